# Scans: cumsum, cumprod, accumulate along one dim, with the function that is applied first fused in.

# Compiled once, as run_map! is. offsets: of segments, or nothing.
function scan!(@nospecialize(out::TCUArray), id::Int32, @nospecialize(x), dim::Int, @nospecialize(init), flags::UInt32,
               @nospecialize(offsets))
    length(out) == 0 && return out
    accumulator = scan_accumulator(id, x, out)
    failure = try_scan!(out, id, x, dim, init, flags, accumulator, offsets)
    if !isempty(failure)
        iscpu(context(out)) && !isgated(x) || throw(ArgumentError(failure))
        count_outside(string("scan: ", failure))
        computed = GC.@preserve x TCUArray_on(context(out), host_values(x))
        failure = try_scan!(out, id, computed, dim, init, flags, accumulator, offsets)
        isempty(failure) || throw(ArgumentError(failure))
    end
    return out
end

# Of integers the least and the greatest number, which exclusive scans begin with, are those of their own type.
function scan_accumulator(id::Int32, x, out)
    T = promote_type(element_type(x), eltype(out))
    (id == MAX.id || id == MIN.id) && T <: Integer && return T
    return id == ANY.id || id == ALL.id ? Bool : widened(T)
end
direction(exclusive::Bool, reverse::Bool) =
    (exclusive ? SCAN_EXCLUSIVE : 0x00000000) | (reverse ? SCAN_REVERSE : 0x00000000)

function try_scan!(@nospecialize(out::TCUArray), id::Int32, @nospecialize(x), dim::Int, @nospecialize(init), flags::UInt32,
                   @nospecialize(A), @nospecialize(offsets))
    call = acquire_call(context(out))
    try
        push_out!(call, out)
        at = offsets === nothing ? nothing : Ref(tensor!(call, offsets))
        r = collect_input!(call, x)
        isempty(call.failure) || return call.failure
        isempty(failure_of(r)) || return failure_of(r)
        started = !(init isa NoInit)
        started && (call.coefficients[3] = cscalar(A, init))
        options = set_options!(call; init = started, scan_flags = flags, accumulator = dtype_id(A))
        GC.@preserve r call options out x offsets check(at === nothing ?
            (@tcu tcu_scan(call.context.handle::Ptr{Cvoid}, pointer(call.out)::Ptr{CTensor}, id::Int32, input_handle(r)::Ptr{Cvoid},
                call.n_inputs::Int32, pointer(call.inputs)::Ptr{CTensor}, (dim - 1)::Int32, pointer(options)::Ptr{COptions})::Int32) :
            (@tcu tcu_segmented_scan(call.context.handle::Ptr{Cvoid}, pointer(call.out)::Ptr{CTensor}, id::Int32,
                input_handle(r)::Ptr{Cvoid}, call.n_inputs::Int32, pointer(call.inputs)::Ptr{CTensor}, (dim - 1)::Int32,
                at::Ptr{CTensor}, pointer(options)::Ptr{COptions})::Int32))
    finally
        release_call(call)
    end
    return ""
end

# The dim of a scan: it must be named unless there is only one.
function scan_dim(x, dims)
    dims isa Integer || throw(ArgumentError("dims must be an integer for a scan, got $dims"))
    dims >= 1 || throw(ArgumentError("dims must be ≥ 1, got $dims"))
    return Int(dims)
end

function scan_type(fold::Fold, t, init)
    R = fold_type(fold, element_type(t))
    return init isa NoInit ? R : promote_type(R, typeof(init))
end

# Into `out`. Beyond the rank there is one more dim, of one element.
function scan_tree!(out::TCUArray, fold::Fold, t, dim::Int; init = NoInit(), exclusive::Bool = false, reverse::Bool = false)
    size(out) == extents(t) || throw(DimensionMismatch("a scan of size $(extents(t)) into an array of size $(size(out))"))
    flags = direction(exclusive, reverse) | (issegmented(t) ? SCAN_SEGMENTED : 0x00000000)
    at = dim <= ndims(out) ? out : reshape(out, (size(out)..., 1))
    scan!(opaque(at), fold.id, opaque(distinct(t, out)), min(dim, ndims(at)), opaque(init), flags, nothing)
    return out
end

# Recorded, these leave both their arguments: what a scan does with what comes before an element, and the element. Called on numbers they
# only say which type comes out.
since(begins::Number, x::Number) = x
affine(factor::Number, x::Number) = factor * x
since(begins::Sym, x::Sym) = symbol(symbol_type(x), [tape_of(begins); tape_of(x)])
affine(factor::Sym, x::Sym) = symbol(promoted(symbol_type(factor), symbol_type(x)), [tape_of(factor); tape_of(x)])
operand(x) = x
operand(x::Reducible) = tree(identity, x)
issegmented(t) = false
issegmented(t::Broadcasted) = t.f === since
isgated(t) = false
isgated(t::Broadcasted) = t.f === since || t.f === affine

scan_alloc(fold::Fold, t, dim::Int; init = NoInit(), options...) =
    scan_tree!(new_array(context(t), scan_type(fold, t, init), extents(t)), fold, t, dim; init = init, options...)

"""
    TCUOps.scan(op, x; dims, exclusive = false, reverse = false, init, segments) -> TCUArray

The running fold of `x` along `dims` (one dim; may be left away for vectors), for `op` of `+`, `*`, `max`, `min`, and `&`, `|` of Bool.
`exclusive`: element i is the fold of those before it, and the first is the identity, or `init`. `reverse`: runs from the last element to
the first. `segments`: an array or lazy tree that broadcasts with `x`; where it is not zero a segment begins, in the order of the scan,
and the fold starts again. `x` may be a lazy tree. Accumulates in Float32 or wider and in 64-bit integers, whatever the element type.
"""
function scan(op, x::Reducible; dims = default_scan_dim(x), exclusive::Bool = false, reverse::Bool = false, init = NoInit(),
              segments = nothing)
    t = segments === nothing ? tree(identity, x) : untyped_tree(since, operand(segments), operand(x))
    fold = fold_of(op, element_type(t))
    fold === nothing && throw(ArgumentError("the library does not scan by `$op`; it has +, *, max, min, and & and | of Bool"))
    return scan_alloc(fold, t, scan_dim(t, dims); init = init, exclusive = exclusive, reverse = reverse)
end

"""
    TCUOps.recurrence(a, x; dims, init = 0, exclusive = false, reverse = false) -> TCUArray

`y[i] = a[i] * y[i-1] + x[i]` along `dims` (one dim; may be left away for vectors), with `y[0]` = `init`: the scan of state-space models
and gated recurrent layers. `a` and `x` are arrays, lazy trees or numbers that broadcast with each other. `exclusive` gives `y[i-1]`;
`reverse` runs from the last element to the first. Accumulates as `TCUOps.scan` does.
"""
function recurrence(a, x; dims = nothing, init = NoInit(), exclusive::Bool = false, reverse::Bool = false)
    t = untyped_tree(affine, operand(a), operand(x))
    dim = dims === nothing ? default_scan_dim(t) : scan_dim(t, dims)
    return scan_alloc(RECURRENCE, t, dim; init = init, exclusive = exclusive, reverse = reverse)
end
default_scan_dim(x) = length(axes(x)) == 1 ? 1 : throw(ArgumentError("a scan of more than one dimension needs dims"))

for (name, fold) in ((:cumsum, :SUM), (:cumprod, :PROD))
    @eval begin
        Base.$name(A::Reducible; dims = default_scan_dim(A)) = (t = tree(identity, A); scan_alloc($fold, t, scan_dim(t, dims)))
        Base.$name(A::TCUVector) = scan_alloc($fold, A, 1)
        function Base.$(Symbol(name, :!))(out::AnyTCU, A::Reducible; dims = default_scan_dim(A))
            t = tree(identity, A)
            scan_tree!(strided_output(out), $fold, t, scan_dim(t, dims))
            return out
        end
        Base.$(Symbol(name, :!))(out::AnyTCU, A::TCUVector) = (scan_tree!(strided_output(out), $fold, A, 1); out)
    end
end

"""
    accumulate(op, A::TCUArray; dims, init), accumulate!(op, B, A; dims, init), cumsum, cumprod

As in Base; without `dims` an array of several dims is accumulated in memory order. An `op` other than `+`, `*`, `max`, `min`, and `&`,
`|` of Bool runs in Base's loop on the CPU and is an ArgumentError on a GPU.
"""
function Base.accumulate(op, A::Reducible; dims = nothing, init = NoInit())
    t = tree(identity, A)
    dims === nothing && length(axes(t)) != 1 && t isa TCUArray &&
        return reshape(Base.accumulate(op, vec(contiguous(t)); dims = 1, init = init), size(t))
    dim = dims === nothing ? default_scan_dim(t) : scan_dim(t, dims)
    fold = fold_of(op, element_type(t))
    fold === nothing || return scan_alloc(fold, t, dim; init = init)
    return TCUArray_on(context(t), host_accumulate(op, t, dim, init))
end
function Base.accumulate!(op, B::AnyTCU, A::Reducible; dims = nothing, init = NoInit())
    t = tree(identity, A)
    dim = dims === nothing ? default_scan_dim(t) : scan_dim(t, dims)
    fold = fold_of(op, element_type(t))
    fold === nothing ? copyto!(B, host_accumulate(op, t, dim, init)) : scan_tree!(strided_output(B), fold, t, dim; init = init)
    return B
end

function host_accumulate(op, t, dim, init)
    iscpu(context(t)) || throw(ArgumentError("the library does not scan by `$op`; it has +, *, max and min"))
    count_outside("accumulate by $op")
    GC.@preserve t begin
        host = host_values(t)
        return init isa NoInit ? Base.accumulate(op, host; dims = dim) : Base.accumulate(op, host; dims = dim, init = init)
    end
end
