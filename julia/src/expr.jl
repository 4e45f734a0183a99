# Recording: a function is called on symbolic numbers, and what they go through becomes the tape of an Expr.

"""
    Sym{T} <: Real

A number of type `T` that is not known yet: a postfix tape that computes it. Every op of the table is defined on it, so
that a scalar function called with `Sym`s returns the `Sym` of its result. Complex `T` are `Sym`s too.
"""
struct Sym{T} <: Real
    tape::Vector{CNode}
    global symbol(::Type{T}, tape::Vector{CNode}) where {T} = new{T}(tape)
end

"Why a function could not be recorded. Backends that can run any function do; on others it becomes an ArgumentError."
struct Unrecordable <: Exception
    reason::String
end
Base.showerror(io::IO, e::Unrecordable) = print(io, e.reason)

input_symbol(::Type{T}, input) where {T} = symbol(T, [CNode(NODE_INPUT, input, 0, 0, CScalar(0, 0))])
scalar_symbol(::Type{T}, slot) where {T} = symbol(T, [CNode(NODE_SCALAR, slot, dtype_id(T), 0, CScalar(0, 0))])
constant(x::T) where {T<:Element} = symbol(T, [CNode(NODE_CONSTANT, 0, dtype_id(T), 0, CScalar(x))])
function cast(::Type{T}, x::Sym) where {T}
    isdtype(T) || throw(Unrecordable("the library has no dtype for $T"))
    return symbol(T, push!(copy(x.tape), CNode(NODE_CAST, 0, dtype_id(T), 0, CScalar(0, 0))))
end
cast(::Type{T}, x::Sym{T}) where {T} = x

# ---- lifting other numbers ----

symbol_type(::Type{Sym{T}}) where {T} = T
symbol_type(::Type{T}) where {T} = T

lift(::Type, x::Sym) = x
lift(::Type, x::Element) = constant(x)
# Irrational, Rational, Int128, ...: as the type they promote to with the symbol that they meet.
function lift(::Type{T}, x::Number) where {T}
    P = promote_type(T, typeof(x))
    isdtype(P) || throw(Unrecordable("$(typeof(x)) with $T gives $P, which the library has no dtype for"))
    return constant(P(x))
end
lift(::Type, x) = throw(Unrecordable("a $(typeof(x)) is no number that can be recorded"))

# ---- ops ----

const OP_IDS = Dict{Tuple{Any,Int},Int32}()
const OP_NAMES = Dict{Int32,Symbol}(Int32(row[1]) => row[2] for row in OP_TABLE)

# f(args...) as one node of op `id`; at least one of args is a Sym.
function symcall(id::Int32, @nospecialize(f), @nospecialize(args::Tuple))
    T = foldl((P, a) -> a isa Sym ? promote_type(P, symbol_type(typeof(a))) : P, args; init = Bool)
    syms = map(a -> lift(T, a), args)
    length_after = foldl((n, s) -> n + length(s.tape), syms; init = 1)
    length_after <= MAX_NODES || throw(Unrecordable(
        "the expression has more than $MAX_NODES nodes at `$(nameof(f))`; split it, or keep a part that is used twice in an array"))
    tape = CNode[]
    for s in syms
        append!(tape, s.tape)
    end
    push!(tape, CNode(NODE_OP, id, 0, 0, CScalar(0, 0)))
    return symbol(result_type(id, f, map(s -> symbol_type(typeof(s)), syms)), tape)
end

# Julia's own answer, where there is a scalar method to ask; the library's, for an op that only it has.
function result_type(id::Int32, @nospecialize(f), types::Tuple)
    samples = map(one, types)
    if applicable(f, samples...)
        R = try
            typeof(f(samples...))
        catch e
            e isa MethodError || e isa TypeError || rethrow()
            Nothing
        end
        isdtype(R) && return R
        throw(Unrecordable("`$(nameof(f))` is not defined on $(join(types, ", "))"))
    end
    tape = [CNode(NODE_INPUT, i - 1, 0, 0, CScalar(0, 0)) for i in 1:length(types)]
    push!(tape, CNode(NODE_OP, id, 0, 0, CScalar(0, 0)))
    return library_result_type(tape, collect(DataType, types))
end

function library_result_type(tape::Vector{CNode}, types::Vector{DataType})
    expression = Expression(tape)
    dtype = Ref{Int32}(0)
    ids = Int32[dtype_id(T) for T in types]
    check(@tcu tcu_expr_dtype(dtype::Ptr{Int32}, expression.handle::Ptr{Cvoid}, length(ids)::Int32, ids::Ptr{Int32})::Int32)
    return DTYPES[dtype[]]
end

argument_combinations(arity) =
    [[(mask >> i) & 1 == 1 ? :Sym : :Real for i in 0:arity-1] for mask in 1:2^arity-1]

# Methods on Sym for every row of the table.
for (id, name, arity, f) in OP_TABLE
    owner, short = f.args[1], f.args[2].value
    if owner === :TCUOps && !isdefined(@__MODULE__, short)
        @eval function $short end
    end
    target = owner === :TCUOps ? short : f
    name in (:identity, :fma, :ifelse, :clamp) && continue
    for kinds in argument_combinations(arity)
        arguments = [Symbol(:x, i) for i in 1:arity]
        signature = [:($a::$k) for (a, k) in zip(arguments, kinds)]
        @eval function $(owner === :TCUOps ? short : Expr(:., owner, QuoteNode(short)))($(signature...))
            symcall($(Int32(id)), $target, ($(arguments...),))
        end
    end
end
for (id, name, arity, f) in OP_TABLE
    owner, short = f.args[1], f.args[2].value
    OP_IDS[(getfield(owner === :TCUOps ? @__MODULE__() : Base, short), arity)] = Int32(id)
end
const OP_SHL, OP_SHR, OP_FMA, OP_IFELSE, OP_CLAMP =
    (OP_IDS[key] for key in ((<<, 2), (>>, 2), (fma, 3), (ifelse, 3), (clamp, 3)))

select(c::Sym{Bool}, x, y) = symcall(OP_IFELSE, select, (c, x, y))
select(c::Bool, x, y) = c ? x : y
select(c, x, y) = throw(Unrecordable("the condition of ifelse is a $(typeof(c)), and must be a Bool"))
if !(ifelse isa Core.Builtin)
    Base.ifelse(c::Sym, x, y) = select(c, x, y)
end
Base.clamp(x::Sym, low::Real, high::Real) = symcall(OP_CLAMP, clamp, (x, low, high))
Base.fma(x::Sym{T}, y::Sym{T}, z::Sym{T}) where {T} = symcall(OP_FMA, fma, (x, y, z))
Base.muladd(x::Sym{T}, y::Sym{T}, z::Sym{T}) where {T} = symcall(OP_FMA, fma, (x, y, z))
result_type(::Int32, ::typeof(select), types::Tuple) = promote_type(types[2], types[3])

# A call of a tree: a row of the table without going through dispatch, anything else by calling it.
function record_call(@nospecialize(f), @nospecialize(args::Tuple))
    Base.any(a -> a isa Sym, args) || return f(args...)
    id = get(OP_IDS, (f, length(args)), Int32(0))
    if id != 0 && Base.all(a -> a isa Number, args)
        f === identity && return args[1]
        f === ifelse && return select(args...)
        (f === (<<) || f === (>>)) && return f(args...)
        return symcall(id, f, args)
    end
    return call_recorded(f, args)
end

# ---- what Base defines on numbers by other means than ops ----

for f in (:+, :-, :*, :/, :(==), :!=)
    @eval Base.$f(x::Sym, y::Complex) = symcall(OP_IDS[($f, 2)], $f, (x, y))
    @eval Base.$f(x::Complex, y::Sym) = symcall(OP_IDS[($f, 2)], $f, (x, y))
end

# As specific as methods of Base on the left or the right, so that none is ambiguous.
for f in (:+, :-, :*)
    @eval Base.$f(x::Sym, y::Complex{Bool}) = symcall(OP_IDS[($f, 2)], $f, (x, y))
    @eval Base.$f(x::Complex{Bool}, y::Sym) = symcall(OP_IDS[($f, 2)], $f, (x, y))
end
for f in (:(==), :<, :<=)
    @eval Base.$f(x::Sym, y::AbstractIrrational) = symcall(OP_IDS[($f, 2)], $f, (x, y))
    @eval Base.$f(x::AbstractIrrational, y::Sym) = symcall(OP_IDS[($f, 2)], $f, (x, y))
end
for S in (:Float32, :Float64, :Signed, :Rational)
    @eval Base.copysign(x::$S, y::Sym) = symcall(OP_IDS[(copysign, 2)], copysign, (x, y))
end
Base.:^(::Irrational{:ℯ}, x::Sym) = exp(x)

# A shift count takes the type of what is shifted, so that the result has it too.
Base.:<<(x::Sym{T}, n::Integer) where {T} = symcall(OP_SHL, <<, (x, T(n)))
Base.:>>(x::Sym{T}, n::Integer) where {T} = symcall(OP_SHR, >>, (x, T(n)))

Base.:^(x::Sym, n::Integer) = x^constant(Int(n))
Base.:^(x::Sym, r::Rational) = x^float(r)
function Base.literal_pow(::typeof(^), x::Sym{T}, ::Val{p}) where {T,p}
    p == 0 && return constant(one(T))
    p == 1 && return x
    p == 2 && return x * x
    p == 3 && return x * x * x
    p == -1 && return inv(x)
    p == -2 && return (y = inv(x); y * y)
    return p < 0 && T <: Integer ? inv(x)^(-p) : x^p
end

for f in (:round, :trunc, :floor, :ceil)
    @eval Base.$f(::Type{T}, x::Sym) where {T<:Integer} = cast(T, $f(x))
end
Base.float(x::Sym{T}) where {T} = cast(float(T), x)
Base.flipsign(x::Sym, y::Real) = select(signbit(lift(symbol_type(typeof(x)), y)), -x, x)
Base.sincos(x::Sym) = (sin(x), cos(x))
for (X, Y) in ((:Sym, :Sym), (:Sym, :Real), (:Real, :Sym))
    @eval Base.fld(x::$X, y::$Y) = div(x - mod(x, y), y)
    @eval Base.cld(x::$X, y::$Y) = -fld(-x, y)
end
Base.isinteger(x::Sym) = x == trunc(x)

for T in values(DTYPES)
    @eval begin
        (::Type{$T})(x::Sym) = cast($T, x)
        Base.convert(::Type{$T}, x::Sym) = cast($T, x)
    end
end
(::Type{Sym{T}})(x::Sym) where {T} = cast(T, x)
(::Type{Sym{T}})(x::Number) where {T} = constant(convert(T, x))
Base.convert(::Type{Sym{T}}, x::Sym{T}) where {T} = x
Base.convert(::Type{Sym{T}}, x::Sym) where {T} = cast(T, x)
Base.convert(::Type{Sym{T}}, x::Number) where {T} = constant(convert(T, x))
Base.promote_rule(::Type{Sym{T}}, ::Type{Sym{S}}) where {T,S} = Sym{promote_type(T, S)}
Base.promote_rule(::Type{Sym{T}}, ::Type{S}) where {T,S<:Number} = Sym{promote_type(T, S)}
Base.promote_rule(::Type{Bool}, ::Type{Sym{T}}) where {T} = Sym{T}
Base.promote_rule(::Type{S}, ::Type{Sym{T}}) where {S<:AbstractIrrational,T} = Sym{promote_type(S, T)}

for f in (:zero, :one, :oneunit, :typemin, :typemax, :eps, :floatmin, :floatmax)
    @eval Base.$f(::Type{Sym{T}}) where {T} = constant($f(T))
end
Base.zero(::Sym{T}) where {T} = constant(zero(T))
Base.one(::Sym{T}) where {T} = constant(one(T))
Base.float(::Type{Sym{T}}) where {T} = Sym{float(T)}
Base.real(::Type{Sym{T}}) where {T} = Sym{real(T)}

Base.show(io::IO, x::Sym{T}) where {T} = print(io, "a number of type ", T, " that is not known while recording")

# ---- recorded expressions ----

"An expression of the library. Freed when nothing refers to it."
mutable struct Expression
    handle::Ptr{Cvoid}
    function Expression(tape::Vector{CNode})
        handle = Ref{Ptr{Cvoid}}(C_NULL)
        GC.@preserve tape check(@tcu tcu_expr_create(handle::Ptr{Ptr{Cvoid}}, pointer(tape)::Ptr{CNode}, length(tape)::Int32)::Int32)
        return finalizer(destroy, new(handle[]))
    end
end
destroy(e::Expression) = (@tcu tcu_expr_destroy(e.handle::Ptr{Cvoid})::Int32; nothing)

is_identity(tape::Vector{CNode}) = length(tape) == 1 && tape[1].kind == NODE_INPUT && tape[1].index == 0

# The expression of one scalar, which fill! writes.
const SCALAR_EXPRESSIONS = Vector{Union{Nothing,Expression}}(nothing, 32)
function scalar_expression(::Type{T}) where {T}
    e = SCALAR_EXPRESSIONS[dtype_id(T)]
    e === nothing || return e.handle
    e = SCALAR_EXPRESSIONS[dtype_id(T)] = Expression(scalar_symbol(T, 0).tape)
    return e.handle
end

# ---- errors that name the operation ----

# What went wrong while recording, in words that say what to do; nothing if it is no matter of recording.
function explain(e, where_::String)
    if e isa Unrecordable
        return string("cannot record the function", where_, ": ", e.reason)
    elseif e isa TypeError && e.got isa Sym
        cause = isempty(e.got.tape) ? "" : string(" on the result of `", last_operation(e.got), "`")
        return string("cannot record the function", where_, ": it branches", cause,
                      ", and what it does must not depend on the data; use ifelse(condition, x, y)")
    elseif e isa MethodError && Base.any(a -> a isa Sym, e.args)
        return string("cannot record the function", where_, ": `", e.f, "` is not an operation of the library")
    elseif e isa InexactError || e isa StackOverflowError
        return string("cannot record the function", where_, ": ", e)
    end
    return nothing
end

function last_operation(s::Sym)
    node = s.tape[end]
    node.kind == NODE_OP || return node.kind == NODE_INPUT ? "an element" : "a scalar"
    return string(get(OP_NAMES, node.index, :unknown))
end

# The innermost frame outside this package and Base, as " at file.jl:12".
function user_line(trace)
    for frame in stacktrace(trace)
        file = String(frame.file)
        (startswith(file, @__DIR__) || startswith(file, "./") || !isabspath(file) && !startswith(file, "REPL") && file != "none") && continue
        occursin("share/julia", file) && continue
        return string(" at ", file, ":", frame.line)
    end
    return ""
end
