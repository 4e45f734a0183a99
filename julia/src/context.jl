# Devices: a Context is a device of one backend with its stream, its plan cache (the library's) and its retired memory.

mutable struct Context
    handle::Ptr{Cvoid}
    backend::Symbol
    ordinal::Int
    stream::Ptr{Cvoid}
    retired::Vector{Tuple{Ptr{Cvoid},Int}}  # memory whose arrays are gone, freed by the next allocation
    retired_lock::Threads.SpinLock
    live_bytes::Threads.Atomic{Int}
    collect_at::Int                         # live bytes at which Julia's collector is asked to run

    Context(handle::Ptr{Cvoid}, backend::Symbol, ordinal::Int) = new(handle, backend, ordinal, C_NULL,
        Tuple{Ptr{Cvoid},Int}[], Threads.SpinLock(), Threads.Atomic{Int}(0), FIRST_COLLECTION_BYTES)
end

Base.show(io::IO, c::Context) = print(io, "TCUOps.Context(:", c.backend, ", ", c.ordinal, ")")

const CONTEXTS = Dict{Tuple{Symbol,Int},Context}()
const CONTEXTS_LOCK = ReentrantLock()
const DEFAULT_CONTEXT = Ref{Union{Nothing,Context}}(nothing)
const FIRST_COLLECTION_BYTES = 1 << 30

"""
    TCUOps.context(backend::Symbol, ordinal = 0) -> Context

The context of a device: `:cpu`, or `:cuda` with the device's ordinal. Made at first use and kept until the process ends.
Throws a `TCUError` that says which devices there are when this machine has no such device. Any thread may call it.
"""
function context(backend::Symbol, ordinal::Integer = 0)
    lock(CONTEXTS_LOCK) do
        get!(CONTEXTS, (backend, Int(ordinal))) do
            handle = Ref{Ptr{Cvoid}}(C_NULL)
            check(@tcu tcu_context_create(handle::Ptr{Ptr{Cvoid}}, String(backend)::Cstring, ordinal::Int32)::Int32)
            Context(handle[], backend, Int(ordinal))
        end
    end
end

"""
    TCUOps.devices(backend = :cuda) -> Int

How many devices of a backend this machine has: 1 for `:cpu`; 0 for `:cuda` without a driver or a GPU.
"""
function devices(backend::Symbol = :cuda)
    count = Ref{Int32}(0)
    check(@tcu tcu_device_count(count::Ptr{Int32}, String(backend)::Cstring)::Int32)
    return Int(count[])
end

"""
    TCUOps.default_context() -> Context

Where arrays are made that are not told a context: the one set by [`TCUOps.device!`](@ref), else the first GPU, else the
CPU.
"""
function default_context()
    c = DEFAULT_CONTEXT[]
    c === nothing ? (DEFAULT_CONTEXT[] = context(devices(:cuda) > 0 ? :cuda : :cpu)) : c
end

"""
    TCUOps.device!(backend::Symbol, ordinal = 0) -> Context

Make a device the one that new arrays of every thread go to. Arrays that exist stay where they are.
"""
device!(backend::Symbol, ordinal::Integer = 0) = DEFAULT_CONTEXT[] = context(backend, ordinal)

const MEASURED = "measured"                           # TCU_KERNEL_MEASURED
const KERNEL = Ref{Ptr{UInt8}}(C_NULL)                # of every call; the library chooses by its rules where it is null

"""
    TCUOps.measure!(on = true)

From now on the first call of every problem (operation, dtypes, shapes, strides) times all kernels that take it, on memory of its own, and
keeps the fastest for as long as the context remembers the problem (the 4096 last asked for); `false`: the library chooses by its rules,
as at first. On a GPU that costs up to a few seconds for a problem, where kernels have to be compiled, and the operands' memory a second
time (`TCUError` where there is no room for it); nothing else should run there meanwhile. Later calls cost what they do otherwise. Which
kernel it is may differ from process to process, and with it a float sum's last bits. Matrix products and ragged segments are not
measured. For all threads.
"""
measure!(on::Bool = true) = (KERNEL[] = on ? pointer(MEASURED) : Ptr{UInt8}(C_NULL); nothing)

"The backend of the default context: `:cpu` or `:cuda`."
device() = default_context().backend

"""
    TCUOps.stream!(context, stream::Ptr) -> Context

Order the context's work by this `cudaStream_t`; a null pointer is the default stream. Ignored on the CPU.
"""
stream!(c::Context, stream::Ptr) = (c.stream = stream; c)

"""
    TCUOps.synchronize([context])

Wait until the work given to the context is done. Needed only for timing: copies to the host wait by themselves.
"""
synchronize(c::Context = default_context()) =
    check(@tcu tcu_synchronize(c.handle::Ptr{Cvoid}, c.stream::Ptr{Cvoid})::Int32)

iscpu(c::Context) = c.backend === :cpu

# ---- memory ----

# What arrays share: memory, and what keeps it alive. On the CPU that is a Julia Array, which Julia's collector knows the
# size of; on a GPU it is memory of the library, and this object's finalizer gives it back.
mutable struct Storage
    context::Context
    pointer::Ptr{Cvoid}
    bytes::Int
    owner::Any
end

# A finalizer may run in the middle of anything, the allocator included: it only notes the memory, and if the note's lock
# is taken it asks to be run again.
function retire(s::Storage)
    s.pointer == C_NULL && return
    c = s.context
    if trylock(c.retired_lock)
        push!(c.retired, (s.pointer, s.bytes))
        unlock(c.retired_lock)
        s.pointer = C_NULL
    else
        finalizer(retire, s)
    end
    return
end

function free_retired!(c::Context)
    isempty(c.retired) && return
    lock(c.retired_lock)
    memory = c.retired
    c.retired = Tuple{Ptr{Cvoid},Int}[]
    unlock(c.retired_lock)
    for (pointer, bytes) in memory
        Threads.atomic_sub!(c.live_bytes, bytes)
        check(@tcu tcu_free(c.handle::Ptr{Cvoid}, pointer::Ptr{Cvoid}, c.stream::Ptr{Cvoid})::Int32)
    end
end

try_malloc!(c::Context, slot, bytes) =
    @tcu tcu_malloc(c.handle::Ptr{Cvoid}, slot::Ptr{Ptr{Cvoid}}, bytes::Csize_t, c.stream::Ptr{Cvoid})::Int32

function device_storage(c::Context, bytes::Int)
    free_retired!(c)
    if c.live_bytes[] + bytes > c.collect_at
        GC.gc(false)
        free_retired!(c)
        c.collect_at = max(FIRST_COLLECTION_BYTES, 2 * (c.live_bytes[] + bytes))
    end
    slot = Ref{Ptr{Cvoid}}(C_NULL)
    status = try_malloc!(c, slot, bytes)
    for full in (false, true)
        status == STATUS_OUT_OF_MEMORY || break
        GC.gc(full)
        free_retired!(c)
        status = try_malloc!(c, slot, bytes)
    end
    check(status)
    Threads.atomic_add!(c.live_bytes, bytes)
    return finalizer(retire, Storage(c, slot[], bytes, nothing))
end

function allocate(c::Context, ::Type{T}, dims::NTuple{N,Int}) where {T,N}
    iscpu(c) || return device_storage(c, Base.checked_mul(sizeof(T), checked_length(dims)))
    memory = Array{T,N}(undef, dims)
    return Storage(c, pointer(memory), sizeof(memory), memory)
end

checked_length(dims) = foldl(Base.checked_mul, dims; init = 1)
