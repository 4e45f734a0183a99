# Reductions over any set of dims, with the function that is applied first fused in.

"What a reduction or a scan takes: an array of the device's, or a lazy tree over some (`TCUOps.lazy.(...)`)."
const Reducible = Union{AnyTCU,TCUBroadcast}

struct NoInit end

# One way to fold: the library's op, Julia's operator, and the dtype that comes out for an element's.
struct Fold{Op}
    id::Int32
    op::Op
end
fold_type(f::Fold, ::Type{T}) where {T} = typeof(f.op(one(T), one(T)))
fold_type(f::Fold{<:Union{typeof(max),typeof(min)}}, ::Type{T}) where {T} = T

const SUM = Fold(REDUCE_SUM, Base.add_sum)
const PROD = Fold(REDUCE_PROD, Base.mul_prod)
const MAX = Fold(REDUCE_MAX, max)
const MIN = Fold(REDUCE_MIN, min)
const ANY = Fold(REDUCE_ANY, |)
const ALL = Fold(REDUCE_ALL, &)
const RECURRENCE = Fold(REDUCE_RECURRENCE, Base.add_sum)

# The fold that an operator means for elements of type T; nothing if the library has none.
fold_of(::typeof(Base.add_sum), ::Type) = SUM
fold_of(::typeof(Base.mul_prod), ::Type) = PROD
fold_of(::typeof(+), ::Type) = Fold(REDUCE_SUM, +)
fold_of(::typeof(*), ::Type) = Fold(REDUCE_PROD, *)
fold_of(::typeof(max), ::Type{<:Real}) = MAX
fold_of(::typeof(min), ::Type{<:Real}) = MIN
fold_of(::typeof(&), ::Type{Bool}) = ALL
fold_of(::typeof(|), ::Type{Bool}) = ANY
fold_of(op, ::Type) = nothing

# ---- shapes ----

# Numbers of dims, ascending, each once; an isbits set, since every call makes one.
struct DimSet
    bits::UInt64
end
DimSet(d::Integer) = DimSet(UInt64(1) << (d - 1))
Base.union(a::DimSet, b::DimSet) = DimSet(a.bits | b.bits)
Base.in(d::Int, s::DimSet) = (s.bits >> (d - 1)) & 1 == 1
Base.length(s::DimSet) = count_ones(s.bits)
Base.eltype(::Type{DimSet}) = Int
Base.iterate(s::DimSet, rest::UInt64 = s.bits) = rest == 0 ? nothing : (trailing_zeros(rest) + 1, rest & (rest - 1))

# The dims of a reduction of N, those beyond N left out. (More than 64 are refused with the arrays that have them.)
reduced_dims(N::Int, ::Colon) = DimSet((UInt64(1) << N) - 1)
reduced_dims(N::Int, d::Integer) = reduced_dims(N, (d,))
function reduced_dims(N::Int, dims)
    some = DimSet(UInt64(0))
    for d in dims
        d isa Integer || throw(ArgumentError("reduced dimension(s) must be integers, got $dims"))
        d >= 1 || throw(ArgumentError("reduced dimension(s) must be ≥ 1, got $dims"))
        d <= N && (some = union(some, DimSet(d)))
    end
    return some
end

reduced_size(extents::Dims{N}, dims) where {N} = ntuple(d -> d in dims ? 1 : extents[d], Val(N))
extents(x) = map(length, axes(x))
# How many elements each result folds.
folded_length(x, dims) = foldl((n, d) -> n * length(axes(x)[d]), dims; init = 1)

# The dims that `r` stands for: those where it has extent 1 and x has not.
function dims_of_output(r, x)
    N = length(axes(x))
    for d in 1:max(N, ndims(r))
        n = d <= N ? length(axes(x)[d]) : 1
        size(r, d) == n || size(r, d) == 1 ||
            throw(DimensionMismatch("cannot reduce an array of size $(extents(x)) into one of size $(size(r))"))
    end
    dims = DimSet(UInt64(0))
    for d in 1:N
        size(r, d) == 1 && (dims = union(dims, DimSet(d)))
    end
    return dims
end

# `f` over the arrays as a lazy tree; an array where there is nothing to apply, or where the type is known from the values alone.
tree(::typeof(identity), x::AnyTCU) = strided(x)
tree(::typeof(identity), x::TCUBroadcast) = typed(x)
tree(f, xs...) = typed(untyped_tree(f, xs...))
untyped_tree(f, xs...) = Broadcast.instantiate(Broadcasted{tree_style(xs...)}(f, xs))
tree_style(xs...) = typeof(Broadcast.combine_styles(xs...))

element_type(x::TCUArray) = eltype(x)
function element_type(bc::Broadcasted)
    T = Broadcast.combine_eltypes(bc.f, bc.args)
    return isconcretetype(T) ? T : type_by_value(bc)
end
@noinline type_by_value(bc::Broadcasted) = (r = recording_of(bc); isempty(r.failure) ? r.result : eltype(host_array(bc, r.failure)))
typed(bc::Broadcasted) = isconcretetype(Broadcast.combine_eltypes(bc.f, bc.args)) ? bc : typed_by_value(bc)
@noinline typed_by_value(bc::Broadcasted) = (r = recording_of(bc); isempty(r.failure) ? bc : host_array(bc, r.failure))

# ---- the call ----

collect_input!(call::Call, x::TCUArray) = (push_input!(call, x); nothing)
function collect_input!(call::Call, bc::Broadcasted)
    collect!(call, bc)
    found = known_recording(call, typeof(bc))
    return found === nothing ? new_recording(call, bc) : found  # a tree that is known is not put in a box
end
input_handle(::Nothing) = C_NULL
input_handle(r::Recording) = handle(r)
failure_of(::Nothing) = ""
failure_of(r::Recording) = r.failure

# out = alpha * fold(x over dims) + beta * out. alpha and beta are read as the accumulator's dtype, which is named when they are given.
# correction: of a variance. second: where a second result goes, or nothing.
# What depends on the arrays' types is laid out here, without a box for any of them; the rest is compiled once (call_reduce).
function fold_into!(out::TCUArray, id::Int32, x, dims::DimSet; alpha = true, beta = false, accumulator::Type{Acc} = Nothing,
                    correction = 1.0, second = nothing) where {Acc}
    length(out) == 0 && return out
    scaled, added = alpha != 1, beta != 0
    given = !(alpha isa Bool && beta isa Bool)  # as numbers; true and false are the defaults
    T = element_type(x)
    A = Acc !== Nothing ? Acc : given ? accumulator_type(T, eltype(out)) : float_accumulator(T, eltype(out))
    call = acquire_call(context(out))  # lost, and no harm, if what follows throws
    call.out[1] = tensor!(call, out)
    r = collect_input!(call, x)
    scaled && (call.coefficients[1] = cscalar(A, alpha))
    added && (call.coefficients[2] = cscalar(A, beta))
    call.correction[1] = correction
    second === nothing || (call.second[1] = tensor!(call, second))
    named = Acc !== Nothing || scaled || added || !given && (id == REDUCE_PROD || id == REDUCE_SUM && sizeof(T) == 8)
    failure = GC.@preserve out x second call_reduce(call, id, r, dims, scaled, added, second !== nothing,
                                                    named && A !== Nothing ? dtype_id(A) : Int32(0))
    isempty(failure) || outside!(opaque(out), id, opaque(x), dims, opaque((alpha, beta, accumulator, correction, second)), failure)
    return out
end

# "", or the reason why the library cannot take the input.
@noinline function call_reduce(call::Call, id::Int32, r::Union{Nothing,Recording}, dims::DimSet, scaled::Bool, added::Bool,
                               second::Bool, accumulator::Int32)
    try
        isempty(call.failure) || return call.failure
        isempty(failure_of(r)) || return failure_of(r)
        for (i, d) in enumerate(dims)
            call.dims[i] = d - 1
        end
        options = set_options!(call; alpha = scaled, beta = added, correction = true, n_second = Int(second), accumulator = accumulator)
        GC.@preserve r call options check(@tcu tcu_reduce(call.context.handle::Ptr{Cvoid}, pointer(call.out)::Ptr{CTensor},
            id::Int32, input_handle(r)::Ptr{Cvoid}, call.n_inputs::Int32, pointer(call.inputs)::Ptr{CTensor},
            length(dims)::Int32, pointer(call.dims)::Ptr{Int32}, pointer(options)::Ptr{COptions})::Int32)
    finally
        release_call(call)
    end
    return ""
end

# An input that cannot be recorded is computed by Base's loop first, on the CPU and on no other device.
function outside!(@nospecialize(out::TCUArray), id::Int32, @nospecialize(x), dims::DimSet, @nospecialize(how), failure::String)
    iscpu(context(out)) && !(x isa TCUArray) || throw(ArgumentError(failure))
    count_outside(string("reduction: ", failure))
    computed = GC.@preserve x TCUArray_on(context(out), host_values(x))
    alpha, beta, accumulator, correction, second = how
    fold_into!(out, id, computed, dims; alpha = alpha, beta = beta, accumulator = accumulator, correction = correction, second = second)
    return
end
TCUArray_on(c::Context, a::AbstractArray) = copyto!(new_array(c, eltype(a), size(a)), a)

# The dtype that sums scaled by a factor are taken in: 8- and 16-bit floats in Float32, integers into floats in that float.
accumulator_type(::Type{T}, ::Type{R}) where {T,R} = widened(promote_type(T, R))
widened(::Type{T}) where {T<:Union{Float16,ShortFloat}} = Float32
widened(::Type{T}) where {T<:Union{Bool,Signed}} = Int64
widened(::Type{T}) where {T<:Unsigned} = UInt64
widened(::Type{T}) where {T} = T

# For products and long sums of integers into floats, which would wrap in the 64 bits that integers are folded in. Nothing: the library's choice.
float_accumulator(::Type{<:Integer}, ::Type{R}) where {R<:Union{AbstractFloat,Complex}} = promote_type(Float64, R)
float_accumulator(::Type, ::Type) = Nothing

# An output of the reduced size, or of none for dims = :, whose single element is then read.
function reduce_alloc(fold::Fold, x, ::Type{R}, dims; options...) where {R}
    out = new_array(context(x), R, reduced_size(extents(x), reduced_dims(length(axes(x)), dims)))
    return fold_into!(out, fold.id, x, reduced_dims(length(axes(x)), dims); options...)
end
function reduce_alloc(fold::Fold, x, ::Type{R}, ::Colon; options...) where {R}
    out = new_array(context(x), R, ())
    fold_into!(out, fold.id, x, reduced_dims(length(axes(x)), :); options...)
    return read_element(out, 0)
end

# Both results of a fold that has two, of types R and S, in one call: arrays of the reduced size, or two numbers for dims = :.
function reduce_both(id::Int32, x, ::Type{R}, ::Type{S}, dims; options...) where {R,S}
    reduced = reduced_dims(length(axes(x)), dims)
    shape = reduced_size(extents(x), reduced)
    out, second = new_array(context(x), R, shape), new_array(context(x), S, shape)
    fold_into!(out, id, x, reduced; second = second, options...)
    return dims === (:) ? (read_element(out, 0), read_element(second, 0)) : (out, second)
end

# ---- mapreduce ----

function fold_over(f, op, x::Reducible, dims, init)
    t = tree(f, x)
    fold = fold_of(op, element_type(t))
    fold === nothing && return host_mapreduce(op, t, dims, init,
        "the library does not reduce by `$op`; it has +, *, max, min, and & and | of Bool")
    return fold_tree(fold, t, dims, init)
end

function fold_tree(fold::Fold, t, dims, ::NoInit)
    T = element_type(t)
    isdtype(T) || return host_mapreduce(fold.op, t, dims, NoInit(), no_dtype(T))
    begins_at_zero(fold, t) && folded_length(t, reduced_dims(length(axes(t)), dims)) == 0 && return fold_tree(fold, t, dims, zero(T))
    return reduce_alloc(fold, t, fold_type(fold, T), dims)
end
# As in Base the greatest magnitude of none is 0.
begins_at_zero(fold::Fold, t) = false
begins_at_zero(fold::Fold{typeof(max)}, t::Broadcasted) = t.f === abs || t.f === abs2
function fold_tree(fold::Fold, t, dims, init)
    isdtype(element_type(t)) || return host_mapreduce(fold.op, t, dims, init, no_dtype(element_type(t)))
    R = promote_type(typeof(init), fold_type(fold, element_type(t)))
    if folded_length(t, reduced_dims(length(axes(t)), dims)) == 0
        dims === (:) && return convert(R, init)
        return fill!(new_array(context(t), R, reduced_size(extents(t), reduced_dims(length(axes(t)), dims))), init)
    end
    folded = fold.id == REDUCE_SUM || fold.id == REDUCE_PROD ?
        reduce_alloc(fold, t, R, dims; accumulator = accumulator_type(element_type(t), R)) : reduce_alloc(fold, t, R, dims)
    folded isa TCUArray || return convert(R, fold.op(init, folded))
    folded .= fold.op.(init, folded)
    return folded
end

# An operator or elements that the library does not have: Base's loop on the CPU.
function host_mapreduce(op, t, dims, init, failure::String)
    c = context(t)
    iscpu(c) || throw(ArgumentError(failure))
    count_outside("mapreduce by $op")
    result = GC.@preserve t begin
        host = host_values(t)
        init isa NoInit ? Base.mapreduce(identity, op, host; dims = dims) :
            Base.mapreduce(identity, op, host; dims = dims, init = init)
    end
    return result isa Array ? TCUArray_on(c, result) : result
end

"""
    mapreduce(f, op, A::TCUArray, Bs...; dims = :, init)

One call of the library for `op` of `+`, `*`, `max`, `min`, and `&`, `|` of Bool, with `f` fused in. `dims` is a number, a
tuple or `:`; dims beyond the rank are no matter. Sizes of several arrays must agree (DimensionMismatch). Sums and products of
small integers widen, and 8- and 16-bit floats accumulate in Float32, as in Base. Another `op`, or an `f` that cannot be recorded, runs
in Base's loops on the CPU and is an ArgumentError on a GPU.
"""
Base.mapreduce(f, op, A::Reducible; dims = :, init = NoInit()) = fold_over(f, op, A, dims, init)
function Base.mapreduce(f, op, A::AnyTCU, B::AbstractArray, C::AbstractArray...; dims = :, init = NoInit())
    same_axes(A, B, C...)
    return fold_over(identity, op, tree(f, A, B, C...), dims, init)
end
Base.reduce(op, A::Reducible; dims = :, init = NoInit()) = fold_over(identity, op, A, dims, init)

# ---- the named reductions ----

for (name, fold) in ((:sum, :SUM), (:prod, :PROD), (:maximum, :MAX), (:minimum, :MIN))
    @eval begin
        Base.$name(A::Reducible; dims = :, init = NoInit()) = fold_tree($fold, tree(identity, A), dims, init)
        Base.$name(f, A::Reducible; dims = :, init = NoInit()) = fold_tree($fold, tree(f, A), dims, init)
        function Base.$(Symbol(name, :!))(f::Function, r::AnyTCU, A::Reducible; init::Bool = true)
            reduce_into!($fold, r, tree(f, A), init)
        end
        function Base.$(Symbol(name, :!))(r::AnyTCU, A::Reducible; init::Bool = true)
            reduce_into!($fold, r, tree(identity, A), init)
        end
    end
end

function truth(t)
    T = element_type(t)
    T === Bool || throw(TypeError(:any, "the elements that any, all and count look at", Bool, T))
    return t
end
for (name, fold) in ((:any, :ANY), (:all, :ALL))
    @eval begin
        Base.$name(A::Reducible; dims = :) = reduce_alloc($fold, truth(tree(identity, A)), Bool, dims)
        Base.$name(f, A::Reducible; dims = :) = reduce_alloc($fold, truth(tree(f, A)), Bool, dims)
        Base.$name(f::Function, A::Reducible; dims = :) = reduce_alloc($fold, truth(tree(f, A)), Bool, dims)  # as Base's is
        Base.$(Symbol(name, :!))(r::AnyTCU, A::Reducible; init::Bool = true) =
            reduce_into!($fold, r, truth(tree(identity, A)), init)
        Base.$(Symbol(name, :!))(f::Function, r::AnyTCU, A::Reducible; init::Bool = true) =
            reduce_into!($fold, r, truth(tree(f, A)), init)
    end
end
const COUNT = Fold(REDUCE_COUNT, +)
Base.count!(r::AnyTCU, A::Reducible; init::Bool = true) = reduce_into!(COUNT, r, truth(tree(identity, A)), init)
Base.count!(f, r::AnyTCU, A::Reducible; init::Bool = true) = reduce_into!(COUNT, r, truth(tree(f, A)), init)
Base.count(A::Reducible; dims = :, init = 0) = count_tree(truth(tree(identity, A)), dims, init)
Base.count(f, A::Reducible; dims = :, init = 0) = count_tree(truth(tree(f, A)), dims, init)
function count_tree(t, dims, init)
    n = reduce_alloc(COUNT, t, typeof(init + 0), dims)
    return init == 0 ? n : n isa TCUArray ? n .+ init : n + init
end

Base.extrema(A::Reducible; dims = :) = extrema_of(tree(identity, A), dims)
Base.extrema(f, A::Reducible; dims = :) = extrema_of(tree(f, A), dims)
function extrema_of(t, dims)
    T = element_type(t)
    return pairs_of(reduce_both(REDUCE_EXTREMA, t, T, T, dims)...)
end
pairs_of(low, high) = (low, high)
pairs_of(low::TCUArray, high::TCUArray) = map(tuple, Array(low), Array(high))

# r = fold(t), or fold(r, t) when init is false, over the dims that r's size says.
function reduce_into!(fold::Fold, r::AnyTCU, t, init::Bool)
    out = strided_output(r)
    dims = dims_of_output(out, t)
    shaped = drop_trailing(out, axes(t))
    if init
        fold_into!(shaped, fold.id, t, dims)
    elseif fold.id == REDUCE_SUM
        fold_into!(shaped, fold.id, t, dims; beta = true_value(eltype(out)))
    elseif folded_length(t, dims) > 0
        folded = fold_into!(similar(shaped), fold.id, t, dims)
        shaped .= fold.op.(shaped, folded)
    end
    return r
end
true_value(::Type{T}) where {T} = one(T)
# Without the trailing dims that a tree with these axes has not. By types: which of the two it is has not to be asked in the call.
drop_trailing(x::TCUArray{T,N}, axes::NTuple{M,Any}) where {T,N,M} = N <= M ? x : reshape(x, ntuple(d -> size(x, d), Val(M)))

"""
    TCUOps.sum!([f,] r, xs...; alpha = 1, beta = 0) -> r

`r = alpha * (the sum of f.(xs...) over the dims where r has extent 1) + beta * r`, in one call of the library and without a
temporary: what the backward pass of a broadcast is. `xs` are TCUArrays that broadcast with each other, or one lazy tree;
trailing dims of `r` may be missing. Throws DimensionMismatch when `r` does not fit. `r` must not share memory with `xs`.

    TCUOps.sum!(db, dy)                              # bias gradient: db has size (C, 1), dy (C, N)
    TCUOps.sum!(*, dscale, dy, xhat; beta = 1)       # accumulates
"""
sum!(f::Function, r::AnyTCU, xs::Reducible...; alpha = true, beta = false) = scaled_sum!(r, tree(f, xs...), alpha, beta)
sum!(r::AnyTCU, x::Reducible; alpha = true, beta = false) = scaled_sum!(r, tree(identity, x), alpha, beta)

as_number(a) = a
as_number(a::Bool) = Int(a)
function scaled_sum!(r::AnyTCU, t, alpha, beta)
    (alpha === false || beta === true) && return scaled_sum!(r, t, as_number(alpha), as_number(beta))
    out = strided_output(r)
    fold_into!(drop_trailing(out, axes(t)), REDUCE_SUM, t, dims_of_output(out, t); alpha = alpha, beta = beta)
    return r
end
