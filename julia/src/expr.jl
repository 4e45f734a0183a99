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

function input_symbol(@nospecialize(T), input::Int)
    isdtype(T) || throw(Unrecordable("the library has no dtype for $T"))
    return symbol(T, [CNode(NODE_INPUT, input, 0, 0, CScalar(0, 0))])
end
scalar_symbol(@nospecialize(T), slot::Int) = symbol(T, [CNode(NODE_SCALAR, slot, dtype_id(T), 0, CScalar(0, 0))])
constant(x::T) where {T<:Element} = symbol(T, [CNode(NODE_CONSTANT, 0, dtype_id(T), 0, CScalar(x))])
function cast(::Type{T}, x::Sym) where {T}
    isdtype(T) || throw(Unrecordable("the library has no dtype for $T"))
    return symbol(T, push!(copy(x.tape), CNode(NODE_CAST, 0, dtype_id(T), 0, CScalar(0, 0))))
end
cast(::Type{T}, x::Sym{T}) where {T} = x

# ---- lifting other numbers ----

symbol_type(@nospecialize(x)) = typeof(x).parameters[1]::DataType
tape_of(@nospecialize(x)) = getfield(x, :tape)::Vector{CNode}

# Irrational, Rational, Int128, ... become the type that they promote to with the symbol that they meet.
function lift(@nospecialize(T), @nospecialize(x))
    x isa Sym && return x
    x isa Element && return constant(x)
    x isa Number || throw(Unrecordable("a $(typeof(x)) is no number that can be recorded"))
    P = promote_type(T, typeof(x))
    isdtype(P) || throw(Unrecordable("$(typeof(x)) with $T gives $P, which the library has no dtype for"))
    return constant(P(x))
end

# ---- ops ----

# The ids of the ops that a function is, by the number of its arguments; 0 where it is none.
const OP_IDS = IdDict{Any,NTuple{3,Int32}}()
op_id(@nospecialize(f), arity::Int) = arity <= 3 ? (get(OP_IDS, f, NO_OP)::NTuple{3,Int32})[arity] : Int32(0)
const NO_OP = (Int32(0), Int32(0), Int32(0))
const OP_NAMES = Dict{Int32,Symbol}(Int32(row[1]) => row[2] for row in OP_TABLE)
const OP_IFELSE = Int32(first(row[1] for row in OP_TABLE if row[2] === :ifelse))

# Recording runs once for each expression, and its cost is compilation: nothing here is specialized on the types of symbols.

# Ops that Base does not compute in the type that the operands promote to (rules.jl).
const RULES = Dict{Int32,Function}()

# f(args...) by op `id`; at least one of args is a Sym.
symcall(id::Int32, @nospecialize(f), @nospecialize(args::Tuple)) = symcall(id, f, Any[args...])
function symcall(id::Int32, @nospecialize(f), args::Vector{Any})
    T = Bool
    for a in args
        a isa Sym && (T = promoted(T, symbol_type(a)))
    end
    symbols = Any[lift(T, a) for a in args]
    rule = get(RULES, id, nothing)
    result = rule === nothing ? nothing : rule(id, f, symbols...)
    return result === nothing ? node(id, f, symbols) : result
end

function node(id::Int32, @nospecialize(f), symbols::Vector{Any})
    tape, types = CNode[], DataType[]
    for s in symbols
        append!(tape, tape_of(s))
        push!(types, symbol_type(s))
    end
    push!(tape, CNode(NODE_OP, id, 0, 0, CScalar(0, 0)))
    length(tape) <= MAX_NODES || throw(Unrecordable(
        "the expression has more than $MAX_NODES nodes at `$(nameof(f))`; split it, or keep a part that is used twice in an array"))
    return symbol(result_type(id, types), tape)
end

promoted(@nospecialize(T), @nospecialize(S)) = T === S ? T : promote_type(T, S)

const RESULT_TYPES = Dict{Tuple{Int32,Vector{DataType}},DataType}()
const RESULT_TYPES_LOCK = ReentrantLock()

# The dtype of one op: the library's rule, which is Julia's.
function result_type(id::Int32, types::Vector{DataType})
    lock(RESULT_TYPES_LOCK)
    T = get(RESULT_TYPES, (id, types), nothing)
    unlock(RESULT_TYPES_LOCK)
    T === nothing || return T
    T = library_result_type(id, types)
    lock(RESULT_TYPES_LOCK)
    RESULT_TYPES[(id, types)] = T
    unlock(RESULT_TYPES_LOCK)
    return T
end

function library_result_type(id::Int32, types::Vector{DataType})
    tape = [CNode(NODE_INPUT, i - 1, 0, 0, CScalar(0, 0)) for i in 1:length(types)]
    push!(tape, CNode(NODE_OP, id, 0, 0, CScalar(0, 0)))
    expression = Expression(tape)
    dtype = Ref{Int32}(0)
    ids = Int32[dtype_id(T) for T in types]
    status = @tcu tcu_expr_dtype(dtype::Ptr{Int32}, expression.handle::Ptr{Cvoid}, length(ids)::Int32, ids::Ptr{Int32})::Int32
    status == 0 || throw(Unrecordable(unsafe_string(@tcu tcu_last_error()::Cstring)))
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
    f = getfield(owner === :TCUOps ? @__MODULE__() : Base, short)
    OP_IDS[f] = Base.setindex(get(OP_IDS, f, NO_OP), Int32(id), arity)
end
const OP_SHL, OP_SHR, OP_MUL, OP_FMA, OP_CLAMP = op_id(<<, 2), op_id(>>, 2), op_id(*, 2), op_id(fma, 3), op_id(clamp, 3)

function select(@nospecialize(c), @nospecialize(x), @nospecialize(y))
    c isa Bool && return c ? x : y
    c isa Sym{Bool} || throw(Unrecordable("the condition of ifelse is a $(typeof(c)), and must be a Bool"))
    return symcall(OP_IFELSE, ifelse, Any[c, x, y])
end
if !(ifelse isa Core.Builtin)
    Base.ifelse(c::Sym, x, y) = select(c, x, y)
end
Base.clamp(x::Sym, low::Real, high::Real) = symcall(OP_CLAMP, clamp, (x, low, high))
Base.fma(x::Sym{T}, y::Sym{T}, z::Sym{T}) where {T} = symcall(OP_FMA, fma, (x, y, z))
Base.muladd(x::Sym{T}, y::Sym{T}, z::Sym{T}) where {T} = symcall(OP_FMA, fma, (x, y, z))

const FOLDED = IdDict{Any,Bool}(f => true for f in (+, *, max, min, &, |, xor))
function record_fold(@nospecialize(f), args::Vector{Any})
    result = args[1]
    for i in 2:length(args)
        result = record_call(f, Any[result, args[i]])
    end
    return result
end

# A call of a tree: a row of the table without going through dispatch, anything else by calling it.
function record_call(@nospecialize(f), args::Vector{Any})
    symbols = numbers = 0
    for a in args
        symbols += a isa Sym
        numbers += a isa Number
    end
    symbols == 0 && return f(args...)
    f === identity && return args[1]
    f isa Several && return leave_all(record_call(f.f, args))
    f === ifelse && return select(args...)
    f === Base.literal_pow && return record_power(args[2], args[3])
    if numbers == length(args)
        id = op_id(f, length(args))
        id == 0 || return symcall(id, f, args)
        # x .+ y .+ z is one call of three arguments
        length(args) > 2 && haskey(FOLDED, f) && return record_fold(f, args)
    end
    return call_recorded(f, args)
end

# ---- what Base defines on numbers by other means than ops ----

for f in (:+, :-, :*, :/, :(==), :!=)
    @eval Base.$f(x::Sym, y::Complex) = symcall(op_id($f, 2), $f, (x, y))
    @eval Base.$f(x::Complex, y::Sym) = symcall(op_id($f, 2), $f, (x, y))
end

# As specific as methods of Base on the left or the right, so that none is ambiguous.
for f in (:+, :-, :*)
    @eval Base.$f(x::Sym, y::Complex{Bool}) = symcall(op_id($f, 2), $f, (x, y))
    @eval Base.$f(x::Complex{Bool}, y::Sym) = symcall(op_id($f, 2), $f, (x, y))
end
for f in (:(==), :<, :<=)
    @eval Base.$f(x::Sym, y::AbstractIrrational) = symcall(op_id($f, 2), $f, (x, y))
    @eval Base.$f(x::AbstractIrrational, y::Sym) = symcall(op_id($f, 2), $f, (x, y))
end
for S in (:Float32, :Float64, :Signed, :Rational)
    @eval Base.copysign(x::$S, y::Sym) = symcall(op_id(copysign, 2), copysign, (x, y))
end
Base.:^(::Irrational{:ℯ}, x::Sym) = exp(x)

Base.:<<(x::Sym, n::Integer) = symcall(OP_SHL, <<, (x, Int(clamp(n, -64, 64))))
Base.:>>(x::Sym, n::Integer) = symcall(OP_SHR, >>, (x, Int(clamp(n, -64, 64))))

Base.:^(x::Sym, n::Integer) = x^constant(Int(n))
Base.:^(x::Sym, r::Rational) = x^float(r)
Base.literal_pow(::typeof(^), x::Sym, p::Val) = record_power(x, p)
function record_power(@nospecialize(x), @nospecialize(exponent))
    p = typeof(exponent).parameters[1]
    T = symbol_type(x)
    p == 0 && return constant(one(T))
    p == 1 && return x
    p == 2 && return times(x, x)
    p == 3 && return times(times(x, x), x)
    p == -1 && return inv(x)
    p == -2 && return (y = inv(x); times(y, y))
    return p < 0 && T <: Integer ? inv(x)^(-p) : x^p
end
times(@nospecialize(x), @nospecialize(y)) = symcall(OP_MUL, *, Any[x, y])

for f in (:round, :trunc, :floor, :ceil)
    @eval Base.$f(::Type{T}, x::Sym) where {T<:Integer} = cast(T, $f(x))
end
Base.float(x::Sym{T}) where {T} = cast(float(T), x)
Base.signed(x::Sym{T}) where {T<:Integer} = cast(signed(T), x)
Base.unsigned(x::Sym{T}) where {T<:Integer} = cast(unsigned(T), x)
Base.flipsign(x::Sym, y::Real) = select(signbit(lift(symbol_type(x), y)), -x, x)
Base.sincos(x::Sym) = (sin(x), cos(x))
for (X, Y) in ((:Sym, :Sym), (:Sym, :Real), (:Real, :Sym))
    @eval Base.fld(x::$X, y::$Y) = floored(x, y, div(x, y))
    @eval Base.cld(x::$X, y::$Y) = ceiled(x, y, div(x, y))
    @eval Base.mod1(x::$X, y::$Y) = from_one(promote(x, y)...)[1]
    @eval Base.fld1(x::$X, y::$Y) = from_one(promote(x, y)...)[2]
end
# As Base: floats by the rest, which is exact; of integers what div leaves out, where both signs differ or do not.
floored(x, y, ::Sym{<:AbstractFloat}) = round((x - mod(x, y)) / y)
ceiled(x, y, quotient::Sym{<:AbstractFloat}) = -floored(-x, y, quotient)
floored(x, y, towards_zero::Sym) = towards_zero - (xor(signbit(x), signbit(y)) & (rem(x, y) != 0))
ceiled(x, y, towards_zero::Sym) = towards_zero + ((signbit(x) == signbit(y)) & (rem(x, y) != 0))
# mod1 and fld1
function from_one(x::Sym{T}, y::Sym{T}) where {T}
    m = mod(x, y)
    m1 = select(m == 0, y, m)
    T <: AbstractFloat && return m1, fld(x - m1 + y, y)
    d = div(x, y)
    return m1, d + (!signbit(x ⊻ y) & (d * y != x))
end
Base.isinteger(x::Sym) = x - trunc(x) == 0
Base.isreal(x::Sym{<:Complex}) = imag(x) == 0

# As specific as methods of Base's, so that none is ambiguous.
for (X, Y) in ((:Sym, :Sym), (:Sym, :Real), (:Real, :Sym), (:Sym, :AbstractFloat), (:AbstractFloat, :Sym))
    @eval Base.isequal(x::$X, y::$Y) = is_equal(x, y)
    @eval Base.isless(x::$X, y::$Y) = is_less(x, y)
end
Base.isequal(x::Sym, y::Complex) = is_equal(x, y)
Base.isequal(x::Complex, y::Sym) = is_equal(x, y)
# As Base: NaN is equal to NaN and above all others, -0.0 below 0.0.
function is_equal(@nospecialize(x), @nospecialize(y))
    X, Y = number_type(x), number_type(y)
    X <: Integer && Y <: Integer && return x == y
    X <: Complex || Y <: Complex || return (x == y) & (signbit(x) == signbit(y)) | isnan(x) & isnan(y)
    return is_equal(real(x), real(y)) & is_equal(imag(x), imag(y))
end
function is_less(@nospecialize(x), @nospecialize(y))
    number_type(x) <: Integer && number_type(y) <: Integer && return x < y
    return !isnan(x) & (isnan(y) | signbit(x) & !signbit(y)) | (x < y)
end

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

function Base.show(io::IO, x::Sym{T}) where {T}
    get(io, :explaining, false) || throw(Unrecordable("it prints a number, or makes a string of it"))
    print(io, "a number of type ", T, " that is not known while recording")
end

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

# What went wrong while recording, in words that say what to do.
function explain(e, where_::String)
    if e isa TypeError && e.got isa Sym
        cause = isempty(e.got.tape) ? "" : string(" on the result of `", last_operation(e.got), "`")
        return string("cannot record the function", where_, ": it branches", cause,
                      ", and what it does must not depend on the data; use ifelse(condition, x, y)")
    elseif e isa MethodError && Base.any(a -> a isa Sym, e.args)
        return string("cannot record the function", where_, ": `", text_with(print, e.f), "` is not an operation of the library")
    end
    return string("cannot record the function", where_, ": ", text_with(showerror, e))
end
# As text in which symbols may stand; of what makes a string of them by itself, the type.
text_with(printed, @nospecialize(x)) = try
    sprint(printed, x; context = :explaining => true)
catch
    string(typeof(x))
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
