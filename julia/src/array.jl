# TCUArray: a strided array in a device's memory.

"""
    TCUArray{T,N} <: AbstractArray{T,N}
    TCUArray{T}(undef, dims...)
    TCUArray(a::AbstractArray)

An N-dimensional array in the memory of a device, made in the [`TCUOps.default_context`](@ref). `T` is a number type of the
library's (`Bool`, `Int8`…`Int64`, `UInt8`…`UInt64`, `TCUOps.Float8E4M3`, `TCUOps.Float8E5M2`, `Float16`, `TCUOps.BFloat16`,
`Float32`, `Float64`, `ComplexF32`, `ComplexF64`); arrays of other `isbits` types can be stored and copied.

Broadcasts, reductions and scans of it are each one call of libtcuops.so. `view` with ranges of any step, `reshape`,
`dropdims`, `selectdim` and the wrappers `transpose`, `adjoint`, `PermutedDimsArray` share its memory. Reading or writing
single elements is an error unless allowed by [`TCUOps.allowscalar`](@ref). `Array(x)` copies to the host.

Different threads may use the same array as long as none writes to it. On a GPU all work is ordered by the context's stream.

    TCUArray(a)          copies from the host (converting with TCUArray{T}(a))
    TCUOps.wrap(a)       shares the memory of an Array on the CPU, of a CuArray on the GPU
    TCUOps.zeros(T, dims...), ones, fill(v, dims...), rand(T, dims...), randn(T, dims...)
"""
# Not a DenseArray: views are TCUArrays too, and their elements need not be contiguous.
struct TCUArray{T,N} <: AbstractArray{T,N}
    storage::Storage
    pointer::Ptr{T}               # the element with all indices 1
    dims::NTuple{N,Int}
    strides::NTuple{N,Int}        # in elements; may be zero or negative

    global unsafe_array(storage::Storage, pointer::Ptr{T}, dims::NTuple{N,Int}, strides::NTuple{N,Int}) where {T,N} =
        new{T,N}(storage, pointer, dims, strides)
end

const TCUVector{T} = TCUArray{T,1}
const TCUMatrix{T} = TCUArray{T,2}

dense_strides(dims::Tuple) = _dense_strides(1, dims)
_dense_strides(_, ::Tuple{}) = ()
_dense_strides(s, dims::Tuple) = (s, _dense_strides(s * dims[1], Base.tail(dims))...)

function new_array(c::Context, ::Type{T}, dims::NTuple{N,Int}) where {T,N}
    isbitstype(T) || throw(ArgumentError("a TCUArray holds plain numbers; $T is not an isbits type"))
    Base.any(d -> d < 0, dims) && throw(ArgumentError("array extents must not be negative: $dims"))
    storage = allocate(c, T, dims)
    return unsafe_array(storage, Ptr{T}(storage.pointer), dims, dense_strides(dims))
end

TCUArray{T,N}(::UndefInitializer, dims::Dims{N}) where {T,N} = new_array(default_context(), T, dims)
TCUArray{T,N}(::UndefInitializer, dims::Vararg{Integer,N}) where {T,N} = TCUArray{T,N}(undef, map(Int, dims))
TCUArray{T}(::UndefInitializer, dims::Dims{N}) where {T,N} = TCUArray{T,N}(undef, dims)
TCUArray{T}(::UndefInitializer, dims::Tuple{Vararg{Integer}}) where {T} = TCUArray{T}(undef, map(Int, dims))
TCUArray{T}(::UndefInitializer, dims::Integer...) where {T} = TCUArray{T}(undef, map(Int, dims))
TCUArray{T,N}(a::AbstractArray{S,N}) where {T,N,S} =
    copyto!(new_array(context_or_default(a), T, size(a)), a isa Union{AnyTCU,Array} ? a : collect(a))
TCUArray{T}(a::AbstractArray{S,N}) where {T,N,S} = TCUArray{T,N}(a)
TCUArray(a::AbstractArray{T,N}) where {T,N} = TCUArray{T,N}(a)
TCUArray(x::Number) = TCUOps.fill(x)
Base.convert(::Type{TCUArray{T,N}}, a::TCUArray{T,N}) where {T,N} = a
Base.convert(::Type{TCUArray{T}}, a::TCUArray{T}) where {T} = a
Base.convert(::Type{TCUArray}, a::TCUArray) = a
Base.convert(::Type{T}, a::AbstractArray) where {T<:TCUArray} = T(a)

# ---- wrappers that share memory ----

const Permuted{T} = PermutedDimsArray{T,N,perm,iperm,<:TCUArray{T}} where {N,perm,iperm}
const Wrapped{T} = Union{Transpose{T,<:TCUArray{T}},Adjoint{T,<:TCUArray{T}},Permuted{T}}

"A TCUArray, or a lazy `transpose`, `adjoint` or `PermutedDimsArray` of one: what every operation here takes."
const AnyTCU{T} = Union{TCUArray{T},Wrapped{T}}

"The same elements as a TCUArray with its strides permuted; shares memory, except for the adjoint of a complex array."
strided(x::TCUArray) = x
strided(x::Transpose) = transposed(parent(x))
strided(x::Adjoint{<:Real}) = transposed(parent(x))
strided(x::Adjoint) = conj.(transposed(parent(x)))
strided(x::PermutedDimsArray{T,N,perm}) where {T,N,perm} = permuted(parent(x), perm)

transposed(x::TCUVector) = unsafe_array(x.storage, x.pointer, (1, x.dims[1]), (x.strides[1], x.strides[1]))
transposed(x::TCUMatrix) = permuted(x, (2, 1))
permuted(x::TCUArray{T,N}, perm::NTuple{N}) where {T,N} =
    unsafe_array(x.storage, x.pointer, map(d -> x.dims[d], perm), map(d -> x.strides[d], perm))

# ---- the array interface ----

Base.size(x::TCUArray) = x.dims
Base.strides(x::TCUArray) = x.strides
Base.stride(x::TCUArray{T,N}, d::Integer) where {T,N} = d <= N ? x.strides[d] : length(x)
Base.elsize(::Type{<:TCUArray{T}}) where {T} = sizeof(T)
Base.IndexStyle(::Type{<:TCUArray}) = IndexLinear()
Base.sizeof(x::TCUArray{T}) where {T} = length(x) * sizeof(T)
Base.pointer(x::TCUArray) = x.pointer
Base.dataids(x::TCUArray) = (UInt(x.storage.pointer),)

isdense(x::TCUArray) = isempty(x) || Base.all(map((d, s, t) -> d == 1 || s == t, x.dims, x.strides, dense_strides(x.dims)))

context(x::TCUArray) = x.storage.context
context(x::Wrapped) = context(parent(x))
context_or_default(x::AnyTCU) = context(x)
context_or_default(x) = default_context()

function Base.unsafe_convert(::Type{Ptr{T}}, x::TCUArray{T}) where {T}
    iscpu(context(x)) && isdense(x) && return x.pointer
    throw(ArgumentError("only a contiguous array on the CPU has a pointer that host code can use; take Array(x) instead"))
end

Base.similar(x::AnyTCU, ::Type{T}, dims::Dims{N}) where {T,N} = new_array(context(x), T, dims)
Base.similar(::Type{<:TCUArray{T}}, dims::Dims{N}) where {T,N} = new_array(default_context(), T, dims)
Base.copy(x::TCUArray) = copyto!(similar(x), x)
Base.deepcopy_internal(x::TCUArray, seen::IdDict) = get!(() -> copy(x), seen, x)
Base.zero(x::TCUArray) = fill!(similar(x), zero(eltype(x)))

# ---- sharing memory with other arrays ----

"""
    TCUOps.wrap(a::Array; context = TCUOps.context(:cpu)) -> TCUArray

The same memory as a TCUArray on the CPU; `a` lives as long as the wrapper. With CUDA.jl loaded, a `CuArray` is wrapped
for the GPU that it is on.

    TCUOps.wrap(pointer::Ptr, dims, context; owner = nothing, strides = ...)

Memory of the context's device that something else owns; `owner` is kept alive.
"""
wrap(a::Array{T,N}; context::Context = context(:cpu)) where {T,N} =
    wrap(pointer(a), size(a), require_cpu(context); owner = a)
wrap(x::AnyTCU) = x
function wrap(p::Ptr{T}, dims::Dims{N}, c::Context; owner = nothing, strides::Dims{N} = dense_strides(dims)) where {T,N}
    isbitstype(T) || throw(ArgumentError("a TCUArray holds plain numbers; $T is not an isbits type"))
    return unsafe_array(Storage(c, Ptr{Cvoid}(p), sizeof(T) * checked_length(dims), owner), p, dims, strides)
end

function require_cpu(c::Context)
    iscpu(c) && return c
    throw(ArgumentError("an Array is in host memory, which $c does not compute on; copy it there with TCUArray(a)"))
end

# A strided array as host code sees it, for the shapes that an Array cannot have.
struct HostView{T,N} <: AbstractArray{T,N}
    array::TCUArray{T,N}
end
Base.size(v::HostView) = v.array.dims
host_offset(v::HostView, I) = foldl(+, map((i, s) -> (i - 1) * s, I, v.array.strides); init = 0)
Base.@propagate_inbounds function Base.getindex(v::HostView{T,N}, I::Vararg{Int,N}) where {T,N}
    @boundscheck checkbounds(v, I...)
    storage = v.array.storage
    GC.@preserve storage unsafe_load(v.array.pointer, host_offset(v, I) + 1)
end
Base.@propagate_inbounds function Base.setindex!(v::HostView{T,N}, value, I::Vararg{Int,N}) where {T,N}
    @boundscheck checkbounds(v, I...)
    storage = v.array.storage
    GC.@preserve storage unsafe_store!(v.array.pointer, convert(T, value), host_offset(v, I) + 1)
    return v
end

# The elements of an array on the CPU for host code, without a copy. An unsafe_wrap lives no longer than `x`: the caller
# preserves it.
function hostview(x::TCUArray{T,N}) where {T,N}
    owner = x.storage.owner
    owner isa Array{T,N} && size(owner) == x.dims && isdense(x) && pointer(owner) == x.pointer && return owner
    return isdense(x) ? unsafe_wrap(Array, x.pointer, x.dims) : HostView(x)
end
hostview(x::Wrapped) = hostview(strided(x))

"""
    TCUOps.unwrap(x::TCUArray) -> Array

The Array whose memory `x` has, without a copy, when `x` is the whole of one on the CPU; a copy otherwise.
"""
function unwrap(x::TCUArray{T,N}) where {T,N}
    owner = x.storage.owner
    owner isa Array{T,N} && size(owner) == x.dims && isdense(x) && pointer(owner) == x.pointer && return owner
    return Array(x)
end
unwrap(x) = x

# ---- show ----

function Base.show(io::IO, ::MIME"text/plain", x::AnyTCU)
    print(io, summary(x), context_note(x))
    isempty(x) && return
    println(io, ":")
    Base.print_array(IOContext(io, :typeinfo => eltype(x)), Array(x))
end
context_note(x) = string(" on ", context(x).backend)
Base.show(io::IO, x::AnyTCU) = show(io, Array(x))

# ---- constructors with values ----

"    TCUOps.zeros([T = Float32,] dims...) -> TCUArray{T}"
zeros(::Type{T}, dims::Dims) where {T} = fill!(TCUArray{T}(undef, dims), zero(T))
"    TCUOps.ones([T = Float32,] dims...) -> TCUArray{T}"
ones(::Type{T}, dims::Dims) where {T} = fill!(TCUArray{T}(undef, dims), one(T))
"    TCUOps.rand([T = Float32,] dims...) -> TCUArray{T}, from Julia's host generator"
rand(::Type{T}, dims::Dims) where {T} = Random.rand!(TCUArray{T}(undef, dims))
"    TCUOps.randn([T = Float32,] dims...) -> TCUArray{T}, from Julia's host generator"
randn(::Type{T}, dims::Dims) where {T} = Random.randn!(TCUArray{T}(undef, dims))
for f in (:zeros, :ones, :rand, :randn)
    @eval $f(::Type{T}, dims::Integer...) where {T} = $f(T, map(Int, dims))
    @eval $f(dims::Integer...) = $f(Float32, dims...)
    @eval $f(dims::Dims) = $f(Float32, dims)
end
"    TCUOps.fill(value, dims...) -> TCUArray{typeof(value)}"
fill(value, dims::Dims) = fill!(TCUArray{typeof(value)}(undef, dims), value)
fill(value, dims::Integer...) = fill(value, map(Int, dims))

for f in (:rand!, :randn!)
    @eval Random.$f(rng::AbstractRNG, x::TCUArray{T}) where {T} = copyto!(x, Random.$f(rng, Array{T}(undef, size(x))))
    @eval Random.$f(x::TCUArray{T}) where {T} = copyto!(x, Random.$f(Array{T}(undef, size(x))))
end
