# Reductions and scans of segments of any length along one dim.

function segments!(@nospecialize(out::TCUArray), id::Int32, @nospecialize(x), dim::Int, @nospecialize(offsets::TCUArray))
    length(out) == 0 && return out
    failure = try_segments!(out, id, x, dim, offsets)
    if !isempty(failure)
        iscpu(context(out)) || throw(ArgumentError(failure))
        count_outside(string("segmented reduction: ", failure))
        computed = GC.@preserve x TCUArray_on(context(out), host_values(x))
        failure = try_segments!(out, id, computed, dim, offsets)
        isempty(failure) || throw(ArgumentError(failure))
    end
    return out
end

function try_segments!(@nospecialize(out::TCUArray), id::Int32, @nospecialize(x), dim::Int, @nospecialize(offsets::TCUArray))
    call = acquire_call(context(out))
    try
        call.out[1] = tensor!(call, out)
        at = Ref(tensor!(call, offsets))
        r = collect_input!(call, x)
        isempty(call.failure) || return call.failure
        isempty(failure_of(r)) || return failure_of(r)
        options = set_options!(call)
        GC.@preserve r call options out x offsets check(@tcu tcu_segmented_reduce(call.context.handle::Ptr{Cvoid},
            pointer(call.out)::Ptr{CTensor}, id::Int32, input_handle(r)::Ptr{Cvoid}, call.n_inputs::Int32,
            pointer(call.inputs)::Ptr{CTensor}, (dim - 1)::Int32, at::Ptr{CTensor}, pointer(options)::Ptr{COptions})::Int32)
    finally
        release_call(call)
    end
    return ""
end

# Offsets on the device, of segments of n elements. Those that come from the host are checked.
function offsets_on(c::Context, offsets, n::Int)
    isempty(offsets) && throw(DimensionMismatch("offsets must be one number more than there are segments"))
    offsets isa AnyTCU && return strided(offsets)
    issorted(offsets) && first(offsets) >= 0 && last(offsets) <= n ||
        throw(ArgumentError("offsets must not fall, and lie between 0 and the $n elements there are"))
    return TCUArray_on(c, offsets)
end

"""
    TCUOps.segmented_reduce(op, x, offsets; dims) -> TCUArray

The fold of each segment of `x` along `dims` (one dim; may be left away for vectors), for `op` of `+`, `*`, `max`, `min`, and `&`,
`|` of Bool. `offsets[s]` elements lie before segment `s`; there is one number more than there are segments, of Int32 or Int64, and
they do not fall: segment `s` is `x[offsets[s]+1:offsets[s+1]]`. An empty segment gives the identity. `x` may be a lazy tree.
`offsets` that are no TCUArray are checked (ArgumentError) and copied to the device.
"""
function segmented_reduce(op, x::Reducible, offsets::AbstractVector{<:Union{Int32,Int64}}; dims = default_scan_dim(x))
    t = tree(identity, x)
    fold = fold_of(op, element_type(t))
    fold === nothing && throw(ArgumentError("the library does not reduce by `$op`; it has +, *, max, min, and & and | of Bool"))
    dim = scan_dim(t, dims)
    dim <= length(axes(t)) || throw(ArgumentError("dims is $dim for an array of $(length(axes(t))) dimensions"))
    at = offsets_on(context(t), offsets, extents(t)[dim])
    size_out = ntuple(d -> d == dim ? length(offsets) - 1 : extents(t)[d], length(axes(t)))
    out = new_array(context(t), fold_type(fold, element_type(t)), size_out)
    segments!(opaque(out), fold.id, opaque(t), dim, opaque(at))
    return out
end

"""
    TCUOps.segmented_scan(op, x, offsets; dims, exclusive = false, reverse = false, init) -> TCUArray

[`TCUOps.scan`](@ref) of each segment of `x` along `dims` for itself. `offsets` as in `TCUOps.segmented_reduce`; elements before the first
offset and from the last on are segments of their own.
"""
function segmented_scan(op, x::Reducible, offsets::AbstractVector{<:Union{Int32,Int64}}; dims = default_scan_dim(x),
                        exclusive::Bool = false, reverse::Bool = false, init = NoInit())
    t = tree(identity, x)
    fold = fold_of(op, element_type(t))
    fold === nothing && throw(ArgumentError("the library does not scan by `$op`; it has +, *, max, min, and & and | of Bool"))
    dim = scan_dim(t, dims)
    dim <= length(axes(t)) || throw(ArgumentError("dims is $dim for an array of $(length(axes(t))) dimensions"))
    out = new_array(context(t), scan_type(fold, t, init), extents(t))
    at = offsets_on(context(t), offsets, extents(t)[dim])
    return scan!(opaque(out), fold.id, opaque(t), dim, opaque(init), direction(exclusive, reverse), opaque(at))
end
