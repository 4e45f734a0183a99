# Functions that treat numbers by their types (`isa`, `where {T}`, methods for some numbers only) would take the wrong way with symbols,
# which are no AbstractFloats and no Integers. Their lowered code is walked, and the questions are answered for the numbers that the symbols
# stand for. So is, before Julia 1.8, code with `ifelse`, which is a builtin there that no package can extend; and code with a `try`, which
# would catch what says that it cannot be recorded.

const IFELSE_IS_BUILTIN = ifelse isa Core.Builtin
asks_type(@nospecialize(f)) =
    f === isa || f === typeof || f === (===) || f === (<:) || f === sizeof || f === applicable || IFELSE_IS_BUILTIN && f === ifelse

# f(args...), or the same by walking f's code.
function call_recorded(@nospecialize(f), args::Vector{Any})
    f isa Core.Builtin && return walked_builtin(f, args)
    code_of(f).asks && return walk(f, args)
    IFELSE_IS_BUILTIN || return f(args...)
    try
        return f(args...)
    catch e
        e isa TypeError && e.func === :ifelse && e.got isa Sym || rethrow()
    end
    return walk(f, args)
end

"A function that Base calls on symbols: it is walked there too."
struct Walked{F} <: Function
    f::F
end
(w::Walked)(args...; options...) = isempty(options) ? walked_call(w.f, Any[args...]) :
    walked_call(with_keywords(w.f), Any[(; options...), w.f, args...])
with_keywords(@nospecialize(f)) = isdefined(Core, :kwcall) ? Core.kwcall : Core.kwfunc(f)
# What Base is given for a function of the user's, or for one of its own that carries some.
function as_walked(@nospecialize(f))
    f isa Function && !(f isa Walked) || return f
    isours(typeof(f)) || return Walked(f)
    return nfields(f) == 0 ? f : new_struct(typeof(f), Any[as_walked(getfield(f, i)) for i in 1:nfields(f)])
end

type_of_numbers(@nospecialize(T)) = T isa DataType && T <: Sym ? T.parameters[1] : T
number_type(@nospecialize(x)) = x isa Sym ? symbol_type(x) : x isa Tuple ? Tuple{Any[number_type(v) for v in x]...} : Core.Typeof(x)

# The method for the numbers, of a function that is not Base's.
function walked_method(@nospecialize(f), args::Vector{Any})
    found = matching_methods(Tuple{Core.Typeof(f),Any[number_type(a) for a in args]...})
    isempty(found) && return nothing
    method = method_in(found[1])
    return has_code(method) && !isours(method.module) ? found[1] : nothing
end

function walked_call(@nospecialize(f), args::Vector{Any})
    f === ifelse && return select(args...)
    f === sizeof && args[1] isa Sym && return sizeof(number_type(args[1]))
    f isa Core.Builtin && return walked_builtin(f, args)
    Base.any(a -> holds_symbol(a), args) || holds_symbol(f) || return f(args...)
    return walk(f, args)
end
holds_symbol(@nospecialize(x)) = x isa Sym || x isa Union{Tuple,NamedTuple,Function} && Base.any(i -> holds_symbol(getfield(x, i)), 1:nfields(x))

function walked_builtin(@nospecialize(f), args::Vector{Any})
    f === isa && return number_type(args[1]) <: args[2]
    f === (<:) && return type_of_numbers(args[1]) <: type_of_numbers(args[2])
    f === applicable && return hasmethod(args[1], Tuple{Any[number_type(a) for a in args[2:end]]...})
    f === typeof && return args[1] isa Sym ? symbol_type(args[1]) : typeof(args[1])
    if f === (===) && Base.any(a -> a isa Sym, args)
        number_type(args[1]) === number_type(args[2]) && throw(Unrecordable("`===` of two numbers is not an operation of the library"))
        return false
    end
    f === Core.typeassert && return walked_builtin(isa, args) ? args[1] : throw(Unrecordable("it asserts that a number is a $(args[2])"))
    f === Core._apply_iterate && return walked_call(args[2], Any[v for a in args[3:end] for v in a])
    return f(args...)
end

struct Frame
    info::Core.CodeInfo
    slots::Vector{Any}
    values::Vector{Any}
    static_parameters::Any
end

function walk(@nospecialize(f), args::Vector{Any})
    found = walked_method(f, args)
    found === nothing && return type_of_numbers((isours(typeof(f)) ? as_walked(f) : f)(Any[as_walked(a) for a in args]...))
    method = method_in(found)
    info = Base.uncompressed_ast(method)
    slots = Vector{Any}(undef, length(info.slotnames))
    slots[1] = f
    nargs = Int(method.nargs) - 1
    for i in 1:nargs
        slots[i+1] = i == nargs && method.isva ? (args[i:end]...,) : args[i]
    end
    static_parameters = found isa Core.SimpleVector ? found[2] : found.sparams
    return run_frame(Frame(info, slots, Vector{Any}(undef, length(info.code)), static_parameters))
end

# A branch is an Expr before Julia 1.6, and a struct of the same parts from then on.
function parts_of(@nospecialize(s))
    s isa Expr && return s.head, s.args
    kind = nameof(typeof(s))
    return kind, kind in (:GotoNode, :GotoIfNot, :ReturnNode) ? Any[getfield(s, i) for i in 1:nfields(s)] : Any[]
end

is_enter(@nospecialize(s)) = s isa Expr ? s.head === :enter : nameof(typeof(s)) === :EnterNode  # a struct from Julia 1.11 on

function run_frame(frame::Frame)
    at = 1
    while true
        is_enter(frame.info.code[at]) && throw(Unrecordable("it has a `try`"))
        head, parts = parts_of(frame.info.code[at])
        if head === :GotoNode
            at = parts[1]
            continue
        elseif head === :gotoifnot || head === :GotoIfNot
            condition = value_of(frame, parts[1])
            condition isa Bool || throw(TypeError(:if, "", Bool, condition))
            at = condition ? at + 1 : parts[2]
            continue
        elseif head === :return || head === :ReturnNode
            return value_of(frame, parts[1])
        elseif head === :(=)
            value = value_of(frame, parts[2])
            parts[1] isa Core.SlotNumber || throw(Unrecordable("it sets the global `$(parts[1])`"))
            frame.slots[parts[1].id] = value
        else
            frame.values[at] = value_of(frame, frame.info.code[at])
        end
        at += 1
    end
end

function value_of(frame::Frame, @nospecialize(x))
    x isa Core.SSAValue && return frame.values[x.id]
    x isa Core.SlotNumber && return frame.slots[x.id]
    x isa GlobalRef && return getfield(x.mod, x.name)
    x isa QuoteNode && return x.value
    (x isa Core.NewvarNode || x isa LineNumberNode) && return nothing
    x isa Expr || return x
    x.head === :static_parameter && return frame.static_parameters[x.args[1]]
    x.head === :boundscheck && return true
    x.head in (:meta, :inbounds, :inline, :noinline, :loopinfo, :throw_undef_if_not) && return nothing
    x.head in (:call, :new) || throw(Unrecordable("its code has a `$(x.head)` beside a question about types, or `ifelse`"))
    values = Any[value_of(frame, a) for a in x.args]
    x.head === :call && return walked_call(values[1], values[2:end])
    return new_struct(values[1], values[2:end])
end

# A T, or of its kind with other parameters where a symbol or a `Walked` is given for a field.
function new_struct(@nospecialize(T), fields::Vector{Any})
    parameters = Any[T.parameters...]
    for i in 1:length(fields)
        position = fields[i] isa fieldtype(T, i) ? nothing : parameter_of_field(T, i)
        position === nothing || (parameters[position] = typeof(fields[i]))
    end
    return ccall(:jl_new_structv, Any, (Any, Ptr{Any}, UInt32), isempty(parameters) ? T : T.name.wrapper{parameters...}, fields, length(fields))
end
