# Copies: between device arrays of any strides, and to and from the host.

# ---- the two calls that everything here ends in ----

function copy_bytes!(c::Context, to::Ptr, from::Ptr, bytes::Int)
    bytes == 0 && return
    check(@tcu tcu_copy(c.handle::Ptr{Cvoid}, to::Ptr{Cvoid}, from::Ptr{Cvoid}, bytes::Csize_t, c.stream::Ptr{Cvoid})::Int32)
end

# The same extents on the same device; converts.
function copy_elements!(dest::TCUArray{T}, src::TCUArray{S}) where {T,S}
    isempty(dest) && return dest
    same_context(dest, src)
    if T === S && isdense(dest) && isdense(src)
        GC.@preserve dest src copy_bytes!(context(dest), dest.pointer, src.pointer, length(src) * sizeof(T))
    elseif !(T <: Element) || !(S <: Element)
        host_copy!(dest, src)
    else
        with_call(context(dest)) do call
            push_out!(call, dest)
            push_input!(call, src)
            call_map(call, C_NULL)
        end
    end
    return dest
end

# Elements that are no numbers to the library, in strided arrays.
function host_copy!(dest, src)
    iscpu(context(dest)) ||
        throw(ArgumentError("on a GPU, elements of type $(eltype(dest)) can only be copied between contiguous arrays"))
    count_outside("copy of $(eltype(dest))")
    GC.@preserve dest src copyto!(hostview(dest), hostview(src))
    return dest
end

function same_context(x::TCUArray, y::TCUArray)
    context(x) === context(y) ||
        throw(ArgumentError("arrays of one call must be on one device: $(context(x)) and $(context(y))"))
end

# ---- copyto! ----

function Base.copyto!(dest::AnyTCU, src::AnyTCU)
    to, from = strided_output(dest), strided(src)
    length(from) <= length(to) || throw(BoundsError(dest, length(from)))
    size(to) == size(from) && return (copy_between!(to, from); dest)
    copy_between!(linear(to, 1:length(from)), linear(from, 1:length(from)))
    return dest
end

function copy_between!(to::TCUArray{T}, from::TCUArray) where {T}
    context(to) === context(from) && return copy_elements!(to, distinct(from, to))
    return host_to_device!(to, Array(from))
end

# The elements of a range of linear indices: a view if memory allows, else through a dense copy that is only read.
function linear(x::TCUArray, range)
    isdense(x) && return view(vec(x), range)
    ndims(x) == 1 && return view(x, range)
    throw(ArgumentError("copyto! between different shapes needs contiguous arrays; copy(x) makes one"))
end

Base.copyto!(dest::AnyTCU, src::AbstractArray) = copy_from_host!(dest, src isa Array ? src : collect(src))
Base.copyto!(dest::Array, src::AnyTCU) = copy_to_host!(dest, src)
Base.copyto!(dest::Union{SubArray,BitArray,Transpose{<:Any,<:Array},Adjoint{<:Any,<:Array}}, src::AnyTCU) = copyto!(dest, Array(src))

function copy_from_host!(dest::AnyTCU, src::Array)
    to = strided_output(dest)
    length(src) <= length(to) || throw(BoundsError(dest, length(src)))
    if size(to) == size(src)
        host_to_device!(to, src)
    else
        host_to_device!(linear(to, 1:length(src)), vec(src))
    end
    return dest
end

function host_to_device!(to::TCUArray{T}, src::Array) where {T}
    host = src isa Array{T} ? src : convert(Array{T}, src)
    isempty(host) && return to
    c = context(to)
    if isdense(to)
        GC.@preserve to host copy_bytes!(c, to.pointer, pointer(host), sizeof(host))
    elseif iscpu(c)
        copy_elements!(to, wrap(host; context = c))
    else
        copy_elements!(to, host_to_device!(similar(to), host))
    end
    return to
end

function copy_to_host!(dest::Array{T}, src::AnyTCU) where {T}
    length(src) <= length(dest) || throw(BoundsError(dest, length(src)))
    isempty(src) && return dest
    from = strided(src)
    if !(from isa TCUArray{T} && isdense(from))
        c = context(from)
        iscpu(c) && size(dest) == size(from) && return (copy_elements!(wrap(dest; context = c), from); dest)
        from = copyto!(similar(from, T), from)
    end
    GC.@preserve from dest copy_bytes!(context(from), pointer(dest), from.pointer, length(from) * sizeof(T))
    return dest
end

function Base.copyto!(dest::TCUArray, doffs::Integer, src::TCUArray, soffs::Integer, n::Integer)
    copy_between!(linear(dest, checked_range(dest, doffs, n)), linear(src, checked_range(src, soffs, n)))
    return dest
end
function Base.copyto!(dest::TCUArray, doffs::Integer, src::AbstractArray, soffs::Integer, n::Integer)
    copyto!(linear(dest, checked_range(dest, doffs, n)), src[checked_range(src, soffs, n)])
    return dest
end
function Base.copyto!(dest::Array, doffs::Integer, src::TCUArray, soffs::Integer, n::Integer)
    copyto!(dest, doffs, Array(linear(src, checked_range(src, soffs, n))), 1, n)
    return dest
end
function checked_range(x, first, n)
    n >= 0 || throw(ArgumentError("the number of elements to copy must not be negative, got $n"))
    range = first:first + n - 1
    checkbounds(x, range)
    return range
end

# ---- fill! ----

function Base.fill!(x::AnyTCU{T}, value) where {T}
    isempty(x) && return x
    v = convert(T, value)
    T <: Element || return fill_host!(x, v)
    to = strided_output(x)
    with_call(context(x)) do call
        push_out!(call, to)
        push_scalar!(call, v)
        call_map(call, scalar_expression(T))
    end
    return x
end

Base.clamp!(x::AnyTCU, low, high) = x .= clamp.(x, low, high)

function fill_host!(x, v)
    iscpu(context(x)) || return copyto!(x, Base.fill(v, size(x)))
    count_outside("fill! of $(typeof(v))")
    GC.@preserve x fill!(hostview(x), v)
    return x
end

# An output wrapped in a complex adjoint has no strided form to write through.
strided_output(x) = strided(x)
strided_output(x::Adjoint{<:Complex,<:TCUArray}) =
    throw(ArgumentError("cannot write through the adjoint of a complex array; write to its parent"))

# ---- do two arrays meet in memory? ----

function byte_range(x::TCUArray{T}) where {T}
    low = foldl(+, map((d, s) -> min(0, (d - 1) * s), x.dims, x.strides); init = 0)
    high = foldl(+, map((d, s) -> max(0, (d - 1) * s), x.dims, x.strides); init = 0)
    return UInt(x.pointer) + low * sizeof(T), UInt(x.pointer) + (high + 1) * sizeof(T)
end

meet((xlow, xhigh), (ylow, yhigh)) = xlow < yhigh && ylow < xhigh
overlaps(x::TCUArray, y::TCUArray) = !isempty(x) && !isempty(y) && meet(byte_range(x), byte_range(y))

same_layout(x::TCUArray{T,N}, y::TCUArray{T,N}) where {T,N} =
    x.pointer == y.pointer && x.dims == y.dims && x.strides == y.strides
same_layout(x::TCUArray, y::TCUArray) = false

# What is read while out is written, or a copy of it: in out's memory with another layout it would be read after it is overwritten.
distinct(x, out) = x
distinct(x::TCUArray, out::TCUArray) = overlaps(x, out) && !same_layout(x, out) ? copy(x) : x
