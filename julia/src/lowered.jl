# Before Julia 1.8 `ifelse` is a builtin that no package can extend. A user's function that calls it on a symbol is
# recorded by walking its lowered code, with `select` in ifelse's place. On newer releases nothing here is used.

const IFELSE_IS_BUILTIN = ifelse isa Core.Builtin

# f(args...), or on these old releases the same by walking f's code where `ifelse` is in it, or in what it calls.
function call_recorded(@nospecialize(f), args::Vector{Any})
    IFELSE_IS_BUILTIN || return f(args...)
    mentions_ifelse(f, args) && return walk(f, args)
    try
        return f(args...)
    catch e
        e isa TypeError && e.func === :ifelse && e.got isa Sym || rethrow()
    end
    return walk(f, args)
end

function mentions_ifelse(@nospecialize(f), args::Vector{Any})
    parentmodule(typeof(f)) in (Core, Base) && return false
    method = method_of(f, args)
    method === nothing && return false
    found = false
    for statement in Base.uncompressed_ast(method[3]).code
        call = statement isa Expr && statement.head === :(=) ? statement.args[2] : statement
        call isa Expr && call.head === :call && (found |= call.args[1] isa GlobalRef && call.args[1].name === :ifelse)
    end
    return found
end

function method_of(@nospecialize(f), args::Vector{Any})
    found = Base._methods_by_ftype(Tuple{typeof(f),Any[typeof(a) for a in args]...}, 1, typemax(UInt))
    return found isa Vector && length(found) == 1 && isdefined(found[1][3], :source) ? found[1] : nothing
end

struct Frame
    info::Core.CodeInfo
    slots::Vector{Any}
    values::Vector{Any}
    static_parameters::Any
    line::Base.RefValue{Int}
end

# Functions of Base and Core are called; other functions that get symbols are walked in their turn.
function walked_call(@nospecialize(f), args::Vector{Any})
    f === ifelse && return select(args...)
    Base.any(a -> a isa Sym, args) || return f(args...)
    f isa Core.Builtin && return f(args...)
    return call_recorded(f, args)
end

function walk(@nospecialize(f), args::Vector{Any})
    found = method_of(f, args)
    found === nothing && return f(args...)
    static_parameters, method = found[2], found[3]
    info = Base.uncompressed_ast(method)
    slots = Vector{Any}(undef, length(info.slotnames))
    slots[1] = f
    nargs = method.nargs - 1
    for i in 1:nargs
        slots[i+1] = i == nargs && method.isva ? (args[i:end]...,) : args[i]
    end
    return run_frame(Frame(info, slots, Vector{Any}(undef, length(info.code)), static_parameters, Ref(0)))
end

function run_frame(frame::Frame)
    at = 1
    while true
        statement = frame.info.code[at]
        if statement isa Core.GotoNode
            at = statement.label
            continue
        elseif statement isa Expr && statement.head === :gotoifnot
            condition = value_of(frame, statement.args[1])
            condition isa Bool || throw(TypeError(:if, "", Bool, condition))
            at = condition ? at + 1 : statement.args[2]
            continue
        elseif statement isa Expr && statement.head === :return
            return value_of(frame, statement.args[1])
        elseif statement isa Expr && statement.head === :(=)
            frame.slots[statement.args[1].id] = value_of(frame, statement.args[2])
        else
            frame.values[at] = value_of(frame, statement)
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
    (x.head === :meta || x.head === :inbounds) && return nothing
    x.head === :call || throw(Unrecordable("its code has a `$(x.head)` beside `ifelse`; on Julia 1.8 and later it is no matter"))
    values = Any[value_of(frame, a) for a in x.args]
    return walked_call(values[1], values[2:end])
end
