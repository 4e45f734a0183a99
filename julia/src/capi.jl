# The structs of tcuops.h, and the buffer in which the arguments of one call are laid out.

struct CTensor
    data::Ptr{Cvoid}
    extents::Ptr{Int64}
    strides::Ptr{Int64}
    dtype::Int32
    rank::Int32
end

struct CScalar
    lo::UInt64
    hi::UInt64
end

struct CNode
    kind::Int32
    index::Int32
    dtype::Int32
    reserved::Int32
    value::CScalar
end

struct COptions
    struct_size::Csize_t
    stream::Ptr{Cvoid}
    alpha::Ptr{CScalar}
    beta::Ptr{CScalar}
    scalars::Ptr{CScalar}
    n_scalars::Int32
    accumulator::Int32
    determinism::Int32
    scan_flags::UInt32
    init::Ptr{CScalar}
    kernel::Ptr{UInt8}
    workspace::Ptr{Cvoid}
    workspace_bytes::Csize_t
    alignment::Int32
    reserved::Int32
    correction::Ptr{Float64}
    second::Ptr{CTensor}
    n_second::Int32
    reserved2::Int32
end

const NODE_INPUT, NODE_SCALAR, NODE_CONSTANT, NODE_OP, NODE_CAST = Int32(1), Int32(2), Int32(3), Int32(4), Int32(5)
const SCAN_EXCLUSIVE, SCAN_REVERSE, SCAN_SEGMENTED = 0x00000001, 0x00000002, 0x00000004
const MAX_RANK, MAX_INPUTS, MAX_NODES, MAX_RESULTS = 64, 16, 256, 4

# ---- the tables ----

"The library's dtypes by id."
const DTYPES = Dict{Int32,DataType}(Int32(id) => getfield(@__MODULE__, type) for (id, _, type) in DTYPE_TABLE)
"Types of which an element or a scalar can be given to the library."
const Element = Union{values(DTYPES)...}

for (id, T) in DTYPES
    @eval dtype_id(::Type{$T}) = $id
end
dtype_names() = join((type for (_, _, type) in DTYPE_TABLE), ", ")
@noinline dtype_id(::Type{T}) where {T} =
    throw(ArgumentError(no_dtype(T)))
no_dtype(T) = "the library has no dtype for $T; it has $(dtype_names())"

isdtype(::Type{T}) where {T} = isconcretetype(T) && T <: Element

for (id, name) in REDUCE_TABLE
    @eval const $(Symbol(:REDUCE_, uppercase(String(name)))) = $(Int32(id))
end

CScalar(x::Union{Bool,Signed}) = CScalar(Int64(x) % UInt64, 0)
CScalar(x::Unsigned) = CScalar(UInt64(x), 0)
CScalar(x::AbstractFloat) = CScalar(reinterpret(UInt64, Float64(x)), 0)
CScalar(x::Complex) = CScalar(reinterpret(UInt64, Float64(real(x))), reinterpret(UInt64, Float64(imag(x))))
# A number for an argument that is read as dtype T: alpha, beta and init are read as the accumulator's.
cscalar(::Type{T}, x) where {T} = CScalar(convert(T, x))

# ---- one call's arguments ----

const MAX_LEAVES = 32

# Filled, used for one call and given back, so that a call allocates nothing here. `leaf_inputs` says which input each
# array of an expression is: one that occurs several times is one input. `baked` holds what an expression depends on by
# value, and `roots` what must live as long as the call.
const NOWHERE = (UInt(0), UInt(0))

mutable struct Call
    context::Context
    out::Vector{CTensor}           # of one tensor
    inputs::Vector{CTensor}
    n_inputs::Int
    modes::Vector{Int64}
    n_modes::Int
    scalars::Vector{CScalar}
    n_scalars::Int
    n_leaves::Int
    leaf_inputs::UInt128
    baked::Vector{Any}
    roots::Vector{Any}
    failure::String                # why the library cannot take an array, if it cannot
    volatile::Bool                 # baked holds something mutable: record anew each time
    written::NTuple{2,UInt}        # where the output's bytes are: an input that overlaps it is copied first. Not an array, which it would
                                   # take a box to hold and a look-up to ask
    dims::Vector{Int32}
    coefficients::Vector{CScalar}  # alpha, beta, init
    correction::Vector{Float64}    # of one number
    second::Vector{CTensor}        # results beside the first
    options::Vector{COptions}
    Call(context::Context) = new(context, Vector{CTensor}(undef, 1), Vector{CTensor}(undef, MAX_INPUTS), 0,
        Vector{Int64}(undef, 2 * MAX_RANK * (MAX_INPUTS + MAX_RESULTS)), 0, Vector{CScalar}(undef, MAX_NODES), 0, 0, 0, Any[], Any[],
        "", false, NOWHERE, Vector{Int32}(undef, MAX_RANK), Vector{CScalar}(undef, 3),
        Vector{Float64}(undef, 1), Vector{CTensor}(undef, MAX_RESULTS - 1), Vector{COptions}(undef, 1))
end

const CALLS = Call[]
const CALLS_LOCK = Threads.SpinLock()

function acquire_call(context::Context)
    lock(CALLS_LOCK)
    call = isempty(CALLS) ? nothing : pop!(CALLS)
    unlock(CALLS_LOCK)
    call === nothing && return Call(context)
    call.context = context
    return call
end

function release_call(call::Call)
    call.n_inputs = call.n_modes = call.n_scalars = call.n_leaves = 0
    call.leaf_inputs = 0
    call.volatile = false
    call.failure = ""
    call.written = NOWHERE
    empty!(call.baked)
    empty!(call.roots)
    lock(CALLS_LOCK)
    push!(CALLS, call)
    unlock(CALLS_LOCK)
    return
end

@inline function with_call(f, context::Context)
    call = acquire_call(context)
    try
        f(call)
    finally
        release_call(call)
    end
end

@noinline function push_scalar!(call::Call, x::Element)
    call.n_scalars < MAX_NODES || throw(ArgumentError("an expression takes up to $MAX_NODES scalars; split it"))
    @inbounds call.scalars[call.n_scalars += 1] = CScalar(x)
    return
end

# Writes the options; the pointers are into the call's own vectors, which do not move while it is used.
function set_options!(call::Call; alpha::Bool = false, beta::Bool = false, init::Bool = false, correction::Bool = false,
                      n_second::Int = 0, accumulator::Int32 = Int32(0), scan_flags::UInt32 = 0x00000000)
    coefficient(i, given) = given ? pointer(call.coefficients, i) : Ptr{CScalar}(C_NULL)
    call.options[1] = COptions(sizeof(COptions), call.context.stream, coefficient(1, alpha), coefficient(2, beta),
        pointer(call.scalars), call.n_scalars, accumulator, 0, scan_flags, coefficient(3, init), KERNEL[], C_NULL, 0, 0, 0,
        correction ? pointer(call.correction) : Ptr{Float64}(C_NULL),
        n_second > 0 ? pointer(call.second) : Ptr{CTensor}(C_NULL), n_second, 0)
    return call.options
end
