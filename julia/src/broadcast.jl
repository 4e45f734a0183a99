# Broadcasting: a tree of dotted calls becomes one Expr over the arrays in it, and one call of the library.

struct TCUStyle{N} <: AbstractArrayStyle{N} end
TCUStyle(::Val{N}) where {N} = TCUStyle{N}()
TCUStyle{M}(::Val{N}) where {M,N} = TCUStyle{N}()

Broadcast.BroadcastStyle(::Type{<:TCUArray{T,N}}) where {T,N} = TCUStyle{N}()
for W in (:Transpose, :Adjoint)
    @eval Broadcast.BroadcastStyle(::Type{<:$W{T,<:TCUArray{T}}}) where {T} = TCUStyle{2}()
end
Broadcast.BroadcastStyle(::Type{<:PermutedDimsArray{T,N,perm,iperm,<:TCUArray{T}}}) where {T,N,perm,iperm} = TCUStyle{N}()
Broadcast.BroadcastStyle(::TCUStyle{M}, ::DefaultArrayStyle{N}) where {M,N} = TCUStyle{max(M, N)}()
Broadcast.BroadcastStyle(::TCUStyle{M}, ::LinearAlgebra.StructuredMatrixStyle) where {M} = TCUStyle{max(M, 2)}()

"A tree of dotted calls that has a TCUArray in it."
const TCUBroadcast = Broadcasted{<:TCUStyle}
Broadcast.BroadcastStyle(::TCUStyle{M}, ::TCUStyle{N}) where {M,N} = TCUStyle{max(M, N)}()

Base.similar(bc::TCUBroadcast, ::Type{T}) where {T} = new_array(context(bc), T, map(length, axes(bc)))
Base.similar(bc::TCUBroadcast, ::Type{T}, dims) where {T} = new_array(context(bc), T, map(length, dims))

# The device of a tree: its first array's.
context(bc::Broadcasted) = context_among(bc.args)
context_among(::Tuple{}) = nothing
context_among(args::Tuple) = context_among(find_context(args[1]), Base.tail(args))
context_among(c::Context, _) = c
context_among(::Nothing, rest) = context_among(rest)
find_context(x::AnyTCU) = context(x)
find_context(bc::Broadcasted) = context(bc)
find_context(x) = nothing

# ---- laying out the arguments of one call ----

function tensor!(call::Call, x::TCUArray{T,N}) where {T,N}
    N <= MAX_RANK || throw(ArgumentError("the library takes arrays of up to $MAX_RANK dimensions, not $N"))
    context(x) === call.context ||
        throw(ArgumentError("the arrays of one call must be on one device: $(context(x)) and $(call.context)"))
    extents = pointer(call.modes, call.n_modes + 1)
    for d in 1:N
        @inbounds call.modes[call.n_modes + d] = x.dims[d]
        @inbounds call.modes[call.n_modes + N + d] = x.strides[d]
    end
    call.n_modes += 2N
    T <: Element || (call.failure = no_dtype(T))
    return CTensor(x.pointer, extents, extents + 8N, T <: Element ? dtype_id(T) : Int32(0), N)
end

push_out!(call::Call, x::TCUArray) = (call.out[1] = tensor!(call, x); call.written = byte_range(x); nothing)

# An input as the library lays it out, without looking whether it is there already or overlaps the output.
function push_input!(call::Call, x::TCUArray)
    call.n_inputs < MAX_INPUTS ||
        throw(ArgumentError("an expression takes up to $MAX_INPUTS different arrays; split it in two"))
    call.inputs[call.n_inputs += 1] = tensor!(call, x)
    return
end

same_tensor(a::CTensor, b::CTensor) = a.data == b.data && a.dtype == b.dtype && a.rank == b.rank &&
    Base.all(i -> unsafe_load(a.extents, i) == unsafe_load(b.extents, i), 1:2a.rank)

# One array of an expression: its input, new or one that is there already.
@noinline function push_leaf!(call::Call, x::TCUArray)
    call.n_leaves < MAX_LEAVES || throw(ArgumentError("an expression names up to $MAX_LEAVES arrays; split it in two"))
    modes_before = call.n_modes
    push_input!(call, x)
    if !isempty(x) && meet(call.written, byte_range(x)) && !same_tensor(call.inputs[call.n_inputs], call.out[1])
        call.n_inputs, call.n_modes = call.n_inputs - 1, modes_before
        push_input!(call, rooted!(call, copy(x)))
    end
    input = call.n_inputs
    for i in 1:input-1
        if same_tensor(call.inputs[i], call.inputs[input])
            call.n_inputs, call.n_modes = input - 1, modes_before
            input = i
            break
        end
    end
    call.leaf_inputs |= UInt128(input - 1) << (4 * call.n_leaves)
    call.n_leaves += 1
    return
end

# Walks a tree in the order in which `record` walks it: a call's function first, then its arguments.
@noinline collect_tree!(call::Call, bc::Broadcasted) = collect!(call, bc)  # compiled once for all that call it on such a tree
collect!(call::Call, bc::Broadcasted) = (capture!(call, bc.f); collect_all!(call, bc.args))
collect_all!(call::Call, ::Tuple{}) = nothing
collect_all!(call::Call, args::Tuple) = (collect!(call, args[1]); collect_all!(call, Base.tail(args)))
collect!(call::Call, x::TCUArray) = push_leaf!(call, x)
function collect!(call::Call, x::Union{AbstractArray,Tuple})
    T = type_in_memory(x)
    isbitstype(T) ? push_leaf!(call, rooted!(call, device_array(call.context, x))) : (call.failure = no_dtype(T))
    return
end
type_in_memory(x) = eltype(x)
type_in_memory(x::Tuple) = promote_type(map(typeof, x)...)
collect!(call::Call, x::Ref) = collect_value!(call, x[])
collect!(call::Call, x) = collect_value!(call, x)
collect_value!(call::Call, x::Type) = nothing
collect_value!(call::Call, x) = capture!(call, x)

rooted!(call::Call, x) = (push!(call.roots, x); x)

device_array(c::Context, x::Wrapped) = strided(x)
device_array(c::Context, x::Tuple) = device_copy(c, Base.collect(promote(x...)))
device_array(c::Context, x::AbstractRange) = device_copy(c, Base.collect(x))
device_copy(c::Context, host::Array) = copyto!(new_array(c, eltype(host), size(host)), host)
function device_array(c::Context, x::AbstractArray)
    iscpu(c) || throw(ArgumentError(
        "a $(typeof(x)) is in host memory and the other arrays are on $c; copy it there once with TCUArray(x)"))
    return wrap(x isa Array ? x : Base.collect(x); context = c)
end

# ---- recording and the cache of recordings ----

# How an expression is run: its handle (null for the plain copy of input 0) and its dtype, or why it cannot be recorded. Mutable so that
# it is one object, which a call that finds it does not copy.
mutable struct Recording
    expression::Union{Nothing,Expression}
    result::DataType
    failure::String
end
handle(r::Recording) = (e = r.expression; e === nothing ? C_NULL : e.handle)

struct Variant
    leaf_inputs::UInt128
    baked::Vector{Any}
    globals::Vector{GlobalRead}
    world::UInt                 # methods may have been redefined since
    recording::Recording
end

const RECORDINGS = IdDict{Any,Vector{Variant}}()
const RECORDINGS_LOCK = Threads.SpinLock()
const MAX_VARIANTS = 64

function recording(call::Call, @nospecialize(bc::Broadcasted))
    found = known_recording(call, typeof(bc))
    return found === nothing ? new_recording(call, bc) : found
end
known_recording(call::Call, @nospecialize(key)) = call.volatile ? nothing : find_recording(call, key, Base.get_world_counter())
new_recording(call::Call, @nospecialize(bc::Broadcasted)) =
    call.volatile ? record(call, bc) : record_and_keep(call, bc, Base.get_world_counter())

function find_recording(call::Call, @nospecialize(key), world::UInt)
    lock(RECORDINGS_LOCK)
    variants = get(RECORDINGS, key, nothing)
    found = nothing
    if variants !== nothing
        for v in variants
            if v.world == world && v.leaf_inputs == call.leaf_inputs && same_values(v.baked, call.baked) &&
               Base.all(unchanged, v.globals)
                found = v.recording
                break
            end
        end
    end
    unlock(RECORDINGS_LOCK)
    return found
end

same_values(a::Vector{Any}, b::Vector{Any}) = length(a) == length(b) && Base.all(i -> a[i] === b[i], 1:length(a))

@noinline function record_and_keep(call::Call, @nospecialize(bc::Broadcasted), world::UInt)
    globals = code_of(bc).globals
    r = record(call, bc, globals)
    Base.all(g -> stable(g.value), globals) || return r
    variant = Variant(call.leaf_inputs, copy(call.baked), globals, world, r)
    lock(RECORDINGS_LOCK)
    variants = get!(() -> Variant[], RECORDINGS, typeof(bc))
    filter!(v -> v.world == world, variants)
    length(variants) < MAX_VARIANTS || empty!(variants)
    push!(variants, variant)
    unlock(RECORDINGS_LOCK)
    return r
end

struct Recorder
    leaf_inputs::UInt128
    leaves::Base.RefValue{Int}
    slots::Base.RefValue{Int}
end

function record(call::Call, @nospecialize(bc), globals::Vector{GlobalRead} = code_of(bc).globals)
    drawn, state = copy(Random.default_rng()), state_of(call.baked, globals)
    failure = ""
    value = try
        symbol_of(Recorder(call.leaf_inputs, Ref(0), Ref(0)), bc)
    catch e
        e isa Union{InterruptException,OutOfMemoryError,TCUError} && rethrow()
        failure = explain(e, user_line(catch_backtrace()))
    end
    if put_back!(state) && isempty(failure)
        failure = "the function writes to what it carries or to a global; recorded, it would do so once, and not for each element"
    end
    if copy(Random.default_rng()) != drawn
        copy!(Random.default_rng(), drawn)
        failure = "the function draws random numbers; recorded, they would be the same for every element"
    end
    isempty(failure) || return Recording(nothing, Nothing, failure)
    if !(value isa Sym)
        value isa Element || return Recording(nothing, Nothing,
            "the function returns a $(typeof(value)), and the library's arrays hold $(dtype_names())")
        value = constant(value)
    end
    tape = tape_of(value)
    return Recording(is_identity(tape) ? nothing : Expression(tape), symbol_type(value), "")
end

function symbol_of(r::Recorder, @nospecialize(bc::Broadcasted))
    f, arguments = symbolize(r.slots, getfield(bc, :f)), getfield(bc, :args)
    return record_call(f, Any[symbol_of(r, getfield(arguments, i)) for i in 1:nfields(arguments)])
end
function symbol_of(r::Recorder, @nospecialize(x::Union{AbstractArray,Tuple}))
    input = Int((r.leaf_inputs >> (4 * r.leaves[])) & 0xf)
    r.leaves[] += 1
    return input_symbol(x isa Tuple ? promote_type(Any[typeof(v) for v in x]...) : eltype(x), input)
end
symbol_of(r::Recorder, @nospecialize(x::Ref)) = symbolize(r.slots, x[])
symbol_of(r::Recorder, @nospecialize(x)) = symbolize(r.slots, x)

"""
    TCUOps.recording_error(f, xs...) -> String

Why `f.(xs...)` cannot be one call of the library, or an empty string if it can. What cannot runs in Base's loops on the CPU,
and is an ArgumentError with this message on a GPU.
"""
function recording_error(f, xs...)
    bc = broadcasted(f, xs...)
    return GC.@preserve bc with_call(call -> (collect!(call, bc); record(call, bc).failure), context(bc))
end

# ---- running ----

# Hides a type from inference: what follows is compiled once, not for every expression.
opaque(@nospecialize(x)) = Base.inferencebarrier(x)

call_map(call::Call, expression::Ptr{Cvoid}, n_second::Int = 0) = (options = set_options!(call; n_second = n_second);
    GC.@preserve call options check(@tcu tcu_map(call.context.handle::Ptr{Cvoid}, pointer(call.out)::Ptr{CTensor}, expression::Ptr{Cvoid},
        call.n_inputs::Int32, pointer(call.inputs)::Ptr{CTensor}, pointer(options)::Ptr{COptions})::Int32))

# dest .= bc in one call; dest has the tree's axes and is not empty. Compiled once: of each tree only the walk by collect! is its own.
function run_map!(@nospecialize(dest::TCUArray), @nospecialize(bc::Broadcasted))
    failure = try_map!(dest, bc, ())
    isempty(failure) || host_map!(dest, bc, failure)
    return dest
end

# more: where the values go, beside the first, that the tree leaves.
function try_map!(@nospecialize(dest::TCUArray), @nospecialize(bc::Broadcasted), @nospecialize(more::Tuple))
    call = acquire_call(context(dest))
    try
        push_out!(call, dest)
        for i in 1:length(more)
            call.second[i] = tensor!(call, more[i])
        end
        collect_tree!(call, bc)
        isempty(call.failure) || return call.failure
        r = recording(call, bc)
        isempty(r.failure) || return r.failure
        GC.@preserve r dest bc more call_map(call, handle(r), length(more))
    finally
        release_call(call)
    end
    return ""
end

# What cannot be recorded runs on the CPU by Base's loop, and on no other device.
function host_map!(@nospecialize(dest::TCUArray), @nospecialize(bc::Broadcasted), failure::String)
    iscpu(context(dest)) || throw(ArgumentError(failure))
    count_outside(string("broadcast: ", failure))
    GC.@preserve dest bc Broadcast.materialize!(hostview(dest), host_tree(bc, dest))
    return dest
end
# dest: what will be written; an input that lies otherwise in the same memory is copied first.
host_tree(bc::Broadcasted, dest = nothing) = broadcasted(bc.f, map(x -> host_tree(x, dest), bc.args)...)
host_tree(x::AnyTCU, ::Nothing) = hostview(x)
host_tree(x::AnyTCU, dest::TCUArray) = hostview(distinct(strided(x), dest))
host_tree(x, _) = x
host_values(x::TCUArray) = hostview(x)
host_values(bc::Broadcasted) = of_one_type(Broadcast.materialize(host_tree(bc)))
of_one_type(x) = Base.fill(x)  # of no dimensions
of_one_type(x::AbstractArray{T}) where {T} = isconcretetype(T) ? x : convert(AbstractArray{common_type(x)}, x)
common_type(x::AbstractArray{T}) where {T} =
    isempty(x) ? promote_type(Base.uniontypes(T)...) : Base.mapreduce(typeof, promote_type, x)

# Compiled for every tree, so that neither it nor the array is put in a box where the tree is recorded already: such a call allocates
# nothing. (An exception leaves the Call to the collector: `finally` takes a compiler's time for each tree.)
map_into!(dest::TCUArray, bc::Broadcasted) = (isempty(dest) || known_map!(dest, bc) || run_map!(opaque(dest), opaque(bc)); nothing)
function known_map!(dest::TCUArray, bc::Broadcasted)
    call = acquire_call(context(dest))
    push_out!(call, dest)
    collect_tree!(call, bc)
    return GC.@preserve dest bc run_known!(call, typeof(bc))
end
function run_known!(call::Call, @nospecialize(key))
    r = isempty(call.failure) ? known_recording(call, key) : nothing
    known = r !== nothing && isempty(r.failure)
    known && GC.@preserve r call_map(call, handle(r))
    release_call(call)
    return known
end

Base.copy(bc::TCUBroadcast) = compute(bc)
# As in Base, a broadcast over zero-dimensional arrays is a number; map keeps the array.
Base.copy(bc::Broadcasted{TCUStyle{0}}) = read_element(compute(bc), 0)

function compute(bc::TCUBroadcast)
    T = Broadcast.combine_eltypes(bc.f, bc.args)
    isconcretetype(T) || return compute_untyped(opaque(bc))
    dest = similar(bc, T)
    map_into!(dest, bc)
    return dest
end

# Inference gave up: the type is what recording finds, or what all elements have in common.
@noinline function compute_untyped(@nospecialize(bc::Broadcasted))
    r = recording_of(bc)
    isempty(r.failure) || return host_array(bc, r.failure)
    dest = similar(bc, r.result)
    map_into!(dest, bc)
    return dest
end
recording_of(@nospecialize(bc::Broadcasted)) = GC.@preserve bc with_call(context(bc)) do call
    collect!(call, bc)
    recording(call, bc)
end
function host_array(@nospecialize(bc::Broadcasted), failure::String)
    iscpu(context(bc)) || throw(ArgumentError(failure))
    count_outside(string("broadcast: ", failure))
    return GC.@preserve bc TCUArray_on(context(bc), host_values(bc))
end

function into!(dest::AnyTCU, bc::Broadcasted)
    axes(dest) == axes(bc) || Broadcast.throwdm(axes(dest), axes(bc))
    map_into!(strided_output(dest), bc)
    return dest
end
Base.copyto!(dest::AnyTCU, bc::TCUBroadcast) = into!(dest, bc)
Base.copyto!(dest::AnyTCU, bc::Broadcasted{TCUStyle{0}}) = into!(dest, bc)
Base.copyto!(dest::AnyTCU, bc::Broadcasted{Nothing}) = into!(dest, bc)
Base.copyto!(dest::AnyTCU, bc::Broadcasted{<:AbstractArrayStyle{0}}) = into!(dest, bc)
# Into host memory: computed on the device and copied.
Base.copyto!(dest::AbstractArray, bc::TCUBroadcast) = copyto!(dest, compute(bc))
Base.copyto!(dest::AbstractArray, bc::Broadcasted{TCUStyle{0}}) = fill!(dest, copy(bc))

same_axes(A, B...) = same_axes_as(axes(A), B) || throw_sizes(A, B...)
same_axes_as(a, ::Tuple{}) = true
same_axes_as(a, B::Tuple) = axes(B[1]) == a && same_axes_as(a, Base.tail(B))
@noinline throw_sizes(arrays...) = throw(DimensionMismatch("map needs arrays of one size, not $(join(map(size, arrays), ", "))"))
# A row vector's map is its column's, as in Base.
const Mappable = Union{TCUArray,Transpose{<:Any,<:TCUMatrix},Adjoint{<:Any,<:TCUMatrix},Permuted}
# With types for f and B, or Julia would compile once for all of them, and a call would allocate.
function Base.map(f::F, A::Mappable, B::Vararg{AbstractArray,N}) where {F,N}
    same_axes_as(axes(A), B) || return map_shortest(f, A, B...)
    return compute(Broadcast.instantiate(Broadcasted{TCUStyle{ndims(A)}}(f, (A, B...))))
end
function Base.map!(f::F, dest::AnyTCU, A::AbstractArray, B::Vararg{AbstractArray,N}) where {F,N}
    same_axes_as(axes(dest), (A, B...)) || return map_shortest!(f, dest, A, B...)
    return copyto!(dest, Broadcast.instantiate(Broadcasted{TCUStyle{ndims(dest)}}(f, (A, B...))))
end
# As Base: vectors are read, and an array is written, as far as the shortest reaches.
function map_shortest(f, arrays::AbstractVector...)
    n = Base.minimum(map(length, arrays))
    return Base.map(f, map(x -> first_of(x, n), arrays)...)
end
map_shortest(f, arrays...) = throw_sizes(arrays...)
function map_shortest!(f, dest, arrays...)
    n = Base.minimum(map(length, (dest, arrays...)))
    Base.map!(f, first_of(dest, n), map(x -> first_of(x, n), arrays)...)
    return dest
end
first_of(x::AnyTCU, n) = linear(strided_output(x), 1:n)
first_of(x, n) = view(vec(x), 1:n)

# ---- lazy trees ----

struct Lazy{B}
    tree::B
end
Broadcast.materialize(x::Lazy) = x.tree

"""
    TCUOps.lazy.(expression)

The tree of a dotted expression, not computed: to be reduced or scanned without a temporary.

    sum(TCUOps.lazy.(abs2.(x .- m)); dims = 1)      # one call of the library
"""
lazy(x) = x
Broadcast.broadcasted(::typeof(lazy), bc::Broadcasted) = Lazy(Broadcast.instantiate(bc))
Broadcast.broadcasted(::typeof(lazy), x::AnyTCU) = Lazy(x)
