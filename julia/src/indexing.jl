# Views, reshapes, and indexing.

# ---- scalar indexing is an error by default ----

const SCALAR_ALLOWED = Ref(false)
scalar_allowed() = SCALAR_ALLOWED[] || get(task_local_storage(), :TCUOps_scalar_allowed, false)::Bool

"""
    TCUOps.allowscalar(allow::Bool)
    TCUOps.allowscalar(f)

Allow reading and writing single elements (slow: one copy each), from now on for every task, or in this one while `f()` runs.
"""
allowscalar(allow::Bool) = SCALAR_ALLOWED[] = allow
allowscalar(f) = task_local_storage(f, :TCUOps_scalar_allowed, true)

@noinline scalar_error() = throw(ErrorException(
    "reading or writing single elements of a TCUArray is slow and not allowed by default: use a broadcast, a reduction or " *
    "Array(x), or wrap the code in TCUOps.allowscalar() do ... end"))

# Element i of a 0-dimensional or one-element view costs one copy by intent: x[] is allowed.
function read_element(x::TCUArray{T}, offset::Int) where {T}
    iscpu(context(x)) && return GC.@preserve x unsafe_load(x.pointer, offset + 1)
    value = Ref{T}()
    GC.@preserve x value copy_bytes!(context(x), Base.unsafe_convert(Ptr{T}, value), x.pointer + offset * sizeof(T), sizeof(T))
    return value[]
end
function write_element!(x::TCUArray{T}, v, offset::Int) where {T}
    value = Ref{T}(convert(T, v))
    GC.@preserve x value copy_bytes!(context(x), x.pointer + offset * sizeof(T), Base.unsafe_convert(Ptr{T}, value), sizeof(T))
    return x
end

offset_of(x::TCUArray{T,N}, I::NTuple{N,Int}) where {T,N} = foldl(+, map((i, s) -> (i - 1) * s, I, x.strides); init = 0)

function scalar_offset(x::TCUArray{T,N}, I::Tuple{Vararg{Integer}}) where {T,N}
    isempty(I) || scalar_allowed() || scalar_error()
    @boundscheck checkbounds(x, I...)
    length(I) == N && return offset_of(x, map(Int, I))
    linear = isempty(I) ? 1 : LinearIndices(x)[I...]
    return offset_of(x, Tuple(CartesianIndices(x)[linear]))
end

# ---- views ----

const StridedIndex = Union{Integer,AbstractRange{<:Integer}}

Base.view(x::TCUArray, indices...) = make_view(x, Base.to_indices(x, indices))
Base.view(x::Wrapped, indices...) = view(strided_output(x), indices...)

function make_view(x::TCUArray{T,N}, I::Tuple{Vararg{StridedIndex}}) where {T,N}
    @boundscheck checkbounds(x, I...)
    length(I) == N && return strided_view(x, I)
    length(I) > N && return make_view(reshape(x, (x.dims..., ntuple(_ -> 1, length(I) - N)...)), I)
    M = length(I)
    return strided_view(reshape(x, (x.dims[1:M-1]..., prod_dims(x.dims[M:N]))), I)
end
make_view(x::TCUArray, I::Tuple) = throw(ArgumentError(
    "a view of a TCUArray takes integers, ranges and colons; x[indices...] copies and takes any indices"))

function strided_view(x::TCUArray{T,N}, I::NTuple{N,StridedIndex}) where {T,N}
    offset = offset_of(x, map(i -> Int(first(i)), I))
    dims, strides = kept_modes(I, x.strides)
    p = prod_dims(dims) == 0 ? x.pointer : x.pointer + offset * sizeof(T)
    return unsafe_array(x.storage, p, dims, strides)
end

kept_modes(::Tuple{}, ::Tuple{}) = (), ()
function kept_modes(I::Tuple, strides::Tuple)
    dims, rest = kept_modes(Base.tail(I), Base.tail(strides))
    return keep_mode(I[1], strides[1], dims, rest)
end
keep_mode(::Integer, stride, dims, strides) = dims, strides
keep_mode(r::AbstractRange, stride, dims, strides) = (length(r), dims...), (stride * Int(step(r)), strides...)

prod_dims(dims) = foldl(*, dims; init = 1)

# ---- reshape ----

function Base.reshape(x::TCUArray{T}, dims::Dims{M}) where {T,M}
    prod_dims(dims) == length(x) ||
        throw(DimensionMismatch("new dimensions $dims must be consistent with array size $(length(x))"))
    dims == x.dims && return x
    isdense(x) && return unsafe_array(x.storage, x.pointer, dims, dense_strides(dims))
    strides = reshaped_strides(x, dims)
    strides === nothing && throw(ArgumentError(
        "this view cannot be reshaped to $dims in place, its elements are not evenly spaced; use reshape(copy(x), ...)"))
    return unsafe_array(x.storage, x.pointer, dims, strides)
end
Base.reshape(x::Wrapped, dims::Dims) = reshape(strided_output(x), dims)
for A in (:TCUArray, :Wrapped)
    @eval Base.reshape(x::$A, dims::Tuple{Vararg{Union{Int,Colon}}}) = reshape(x, without_colon(length(x), dims))
end

function without_colon(n::Int, dims)
    others = prod_dims(map(d -> d isa Colon ? 1 : d, dims))
    Base.count(d -> d isa Colon, dims) == 1 && (others == 0 ? n == 0 : n % others == 0) ||
        throw(DimensionMismatch("an array of $n elements does not reshape to $dims"))
    return map(d -> d isa Colon ? (others == 0 ? 0 : n ÷ others) : d, dims)
end

# Splits and merges modes: each run of old modes that is evenly spaced becomes a run of new ones with the same product.
function reshaped_strides(x::TCUArray, dims::Dims{M}) where {M}
    old = [(d, s) for (d, s) in zip(x.dims, x.strides) if d != 1]
    strides = Base.ones(Int, M)
    i = 1
    left, stride = 1, 1          # elements of the current old run not yet given to a new mode, and their distance
    for m in 1:M
        dims[m] == 1 && continue
        need = dims[m]
        if left == 1
            i <= length(old) || return nothing
            (left, stride), i = old[i], i + 1
        end
        while left % need != 0
            i <= length(old) || return nothing
            d, s = old[i]
            s == left * stride || return nothing
            left, i = left * d, i + 1
        end
        strides[m] = stride
        left, stride = left ÷ need, stride * need
    end
    return ntuple(m -> strides[m], Val(M))
end

function Base.reinterpret(::Type{S}, x::TCUArray{T,N}) where {S,T,N}
    isbitstype(S) || throw(ArgumentError("cannot reinterpret to $S, which is not an isbits type"))
    sizeof(S) == sizeof(T) && return unsafe_array(x.storage, Ptr{S}(x.pointer), x.dims, x.strides)
    bytes = N == 0 ? 0 : x.dims[1] * sizeof(T)
    N > 0 && isdense(x) && bytes % sizeof(S) == 0 ||
        throw(ArgumentError("reinterpret from $T to $S needs a contiguous array whose first dimension divides"))
    dims = (bytes ÷ sizeof(S), Base.tail(x.dims)...)
    return unsafe_array(x.storage, Ptr{S}(x.pointer), dims, dense_strides(dims))
end

# ---- permuting and reversing ----

function Base.permutedims!(dest::AnyTCU, src::AnyTCU, perm)
    from = permuted_input(strided(src), perm)
    size(dest) == size(from) || throw(DimensionMismatch("permutedims! to size $(size(dest)) of size $(size(from))"))
    return copyto!(dest, from)
end
function permuted_input(x::TCUArray{T,N}, perm) where {T,N}
    isperm(collect(perm)) && length(perm) == N || throw(ArgumentError("no valid permutation of dimensions: $perm"))
    return permuted(x, ntuple(d -> Int(perm[d]), Val(N)))
end
Base.permutedims(x::AnyTCU, perm) = copy(permuted_input(strided(x), perm))
Base.permutedims(x::AnyTCU) = copy(transposed(strided(x)))
Base.copy(x::Wrapped) = (y = strided(x); copyto!(similar(y), y))
LinearAlgebra.transpose(x::Permuted) = transpose(strided(x))
LinearAlgebra.adjoint(x::Permuted) = adjoint(strided(x))
Base.PermutedDimsArray(x::Union{Transpose{T,<:TCUArray{T}},Adjoint{T,<:TCUArray{T}}}, perm) where {T} =
    PermutedDimsArray(strided(x), perm)

function reversed(x::TCUArray{T,N}, dims) where {T,N}
    Base.all(d -> 1 <= d <= N, dims) || throw(ArgumentError("reverse along $dims of an array with $N dimensions"))
    return view(x, ntuple(d -> d in dims ? (x.dims[d]:-1:1) : (1:x.dims[d]), Val(N))...)
end
Base.reverse(x::AnyTCU; dims = :) = copy(reversed(strided(x), dims === (:) ? (1:ndims(x)) : dims))
Base.reverse(x::TCUVector; dims = :) = copy(reversed(x, dims === (:) ? 1 : dims))
Base.reverse(x::TCUVector, from::Integer, to::Integer = length(x)) = reverse!(copy(x), from, to)
Base.reverse!(x::AnyTCU; dims = :) = copyto!(x, reversed(strided(x), dims === (:) ? (1:ndims(x)) : dims))
Base.reverse!(x::TCUVector; dims = :) = copyto!(x, reversed(x, dims === (:) ? 1 : dims))
Base.reverse!(x::TCUVector, from::Integer, to::Integer = length(x)) = (reverse!(view(x, from:to)); x)

Base.circshift(x::AnyTCU, shift::Real) = circshift(x, (Integer(shift),))
Base.circshift(x::AnyTCU, shifts) = circshift(x, map(Integer, (shifts...,)))
function Base.circshift(x::AnyTCU, shifts::Tuple{Vararg{Integer}})
    length(shifts) <= ndims(x) || throw(ArgumentError("$(length(shifts)) shifts of an array of $(ndims(x)) dimensions"))
    y = copy(x)
    for (d, shift) in enumerate(shifts)
        n = size(y, d)
        n == 0 && continue
        k = mod(shift, n)
        k == 0 && continue
        z = similar(y)
        copyto!(selectrange(z, d, 1:k), selectrange(y, d, n-k+1:n))
        copyto!(selectrange(z, d, k+1:n), selectrange(y, d, 1:n-k))
        y = z
    end
    return y
end
for S in (:Any, :(Tuple{Vararg{Integer}}), :(Tuple{}))
    @eval function Base.circshift!(dest::AnyTCU, src::AnyTCU, shifts::$S)
        axes(dest) == axes(src) || throw(ArgumentError("circshift! of size $(size(src)) into size $(size(dest))"))
        return copyto!(dest, circshift(src, shifts))
    end
end
selectrange(x::TCUArray{T,N}, d, r) where {T,N} = view(x, ntuple(i -> i == d ? r : (1:x.dims[i]), Val(N))...)

# Each mode i of x becomes three of the result: inner repeats, x's own, outer repeats.
function Base.repeat(x::AnyTCU; inner = ntuple(_ -> 1, ndims(x)), outer = ntuple(_ -> 1, ndims(x)))
    N = max(ndims(x), length(inner), length(outer))
    times(r, d) = d <= length(r) ? Int(r[d]) : 1
    Base.any(r -> r < 0, (inner..., outer...)) && throw(ArgumentError("repeats must not be negative"))
    source = copy(x)
    dims = ntuple(d -> times(inner, d) * size(x, d) * times(outer, d), N)
    y = similar(source, eltype(x), dims)
    isempty(y) && return y
    split = ntuple(k -> (times(inner, (k + 2) ÷ 3), size(x, (k + 2) ÷ 3), times(outer, (k + 2) ÷ 3))[mod1(k, 3)], 3N)
    ones_around = ntuple(k -> mod1(k, 3) == 2 ? split[k] : 1, 3N)
    reshape(y, split) .= reshape(source, ones_around)
    return y
end
Base.repeat(x::AnyTCU, counts::Integer...) = repeat(x; outer = counts)

# ---- getindex and setindex! ----

contiguous(x) = x
contiguous(x::TCUArray) = isdense(x) ? x : copy(x)

function Base.getindex(x::TCUArray, indices...)
    I = Base.to_indices(x, indices)
    I isa Tuple{Vararg{Integer}} && return read_element(x, scalar_offset(x, I))
    I isa Tuple{Vararg{StridedIndex}} && return copy(make_view(length(I) < ndims(x) ? contiguous(x) : x, I))
    return gather(x, I)
end

# Indices that are no ranges: through the host. The library has no gather.
function gather(x::TCUArray, I)
    count_outside("getindex by $(join(map(typeof, I), ", "))")
    host = map(i -> i isa AnyTCU ? Array(i) : i, I)
    iscpu(context(x)) || return copyto_like(x, Array(x)[host...])
    return GC.@preserve x copyto_like(x, hostview(x)[host...])
end
copyto_like(x, host) = copyto!(similar(x, eltype(host), size(host)), host)
# A mask on the device is read on the host, as any irregular index is.
Base.to_index(mask::TCUArray{Bool}) = Base.to_index(Array(mask))
Base.to_indices(A, inds, I::Tuple{TCUArray{Bool},Vararg{Any}}) = Base.to_indices(A, inds, (Array(I[1]), Base.tail(I)...))

Base.findall(mask::AnyTCU{Bool}) = findall(Array(mask))
Base.findall(f::Function, x::AnyTCU) = findall(f.(x))
Base.findall(f::Base.Fix2{typeof(in)}, x::AnyTCU) = findall(f, Array(x))

function Base.setindex!(x::TCUArray, value, indices...)
    I = Base.to_indices(x, indices)
    I isa Tuple{Vararg{Integer}} && return write_element!(x, value, scalar_offset(x, I))
    if I isa Tuple{Vararg{StridedIndex}}
        dest = make_view(x, I)
        value isa AbstractArray || return (fill!(dest, value); x)
        Base.setindex_shape_check(value, map(length, I)...)
        source = value isa AnyTCU ? strided(value) : value
        copyto!(dest, size(source) == size(dest) ? source : reshape(contiguous(source), size(dest)))
    else
        scatter!(x, value, I)
    end
    return x
end
function scatter!(x::TCUArray, value, I)
    count_outside("setindex! by $(join(map(typeof, I), ", "))")
    host = Array(x)
    host[map(i -> i isa AnyTCU ? Array(i) : i, I)...] = value isa AnyTCU ? Array(value) : value
    copyto!(x, host)
end

# x[indices] .= values, where no view has the elements.
struct Scattered{A,I}
    array::A
    indices::I
end
function Broadcast.dotview(x::TCUArray, indices...)
    I = Base.to_indices(x, indices)
    return I isa Tuple{Vararg{StridedIndex}} ? make_view(x, I) : Scattered(x, I)
end
Broadcast.dotview(x::Wrapped, indices...) = Broadcast.dotview(strided_output(x), indices...)
function Broadcast.materialize!(dest::Scattered, bc::Broadcasted{Style}) where {Style}
    count_outside("setindex! by $(join(map(typeof, dest.indices), ", "))")
    host, values = Array(dest.array), Broadcast.materialize(bc)
    view(host, map(i -> i isa AnyTCU ? Array(i) : i, dest.indices)...) .= values isa AnyTCU ? Array(values) : values
    copyto!(dest.array, host)
    return dest
end

# Several elements of a lazy wrapper. (A single one is its parent's, and Base has methods for all rows of a row vector.)
const Many = Union{AbstractArray,Colon}
const NotRows = Union{Transpose{<:Any,<:TCUMatrix},Adjoint{<:Any,<:TCUMatrix},Permuted}
for (W, given, names) in ((:Wrapped, (:(m::Many),), (:m,)), (:NotRows, (:(m::Many), :j, :(rest...)), (:m, :j, :(rest...))),
                          (:Wrapped, (:(i::Integer), :(m::Many), :(rest...)), (:i, :m, :(rest...))),
                          (:Wrapped, (:(i::Integer), :(j::Integer), :(m::Many), :(rest...)), (:i, :j, :m, :(rest...))))
    @eval Base.getindex(x::$W, $(given...)) = getindex(strided(x), $(names...))
    @eval Base.setindex!(x::$W, value, $(given...)) = (setindex!(strided_output(x), value, $(names...)); x)
end
