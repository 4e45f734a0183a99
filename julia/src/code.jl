# What a function's lowered code says before it is recorded: which globals it reads, and whether it asks what type a number has. Looked
# for in the function, in what it carries and in the functions that these name, but not inside Base and this package.

"A global that a function reads, and its value when the function was recorded."
struct GlobalRead
    mod::Module
    name::Symbol
    value::Any
end
unchanged(g::GlobalRead) = isdefined(g.mod, g.name) && getfield(g.mod, g.name) === g.value

mutable struct Code
    globals::Vector{GlobalRead}     # those that may have another value, or another meaning, at the next call
    asks::Bool                      # symbols would not be taken for the numbers that they stand for
    seen::Base.IdSet{Any}
end

@noinline code_of(@nospecialize(x)) = (code = Code(GlobalRead[], false, Base.IdSet{Any}()); look!(code, x); code)

isours(m::Module) = Base.moduleroot(m) in (Base, Core, @__MODULE__)
isours(@nospecialize(F::DataType)) = isours(F.name.module)

# A value: the code that runs when it is called, and what it carries.
function look!(code::Code, @nospecialize(x))
    x isa Union{Number,AbstractArray,AbstractString,Symbol,Module} && return
    if x isa Type
        look_at_methods!(code, Type{x})
        x <: Function && look_at_methods!(code, x)  # of a closure that is made there
        return
    end
    look_at_methods!(code, typeof(x))
    isours(typeof(x)) && !(x isa Union{Function,Tuple,NamedTuple,Ref,Broadcasted}) && return
    if is_mutable_type(typeof(x))
        x in code.seen && return
        push!(code.seen, x)
    end
    for i in 1:nfields(x)
        is_readable(x, i) && look!(code, getfield(x, i))
    end
end

function look_at_methods!(code::Code, @nospecialize(F))
    T = Base.unwrap_unionall(F isa DataType && F <: Type ? F.parameters[1] : F)
    (!(T isa DataType) || isours(T) || F in code.seen) && return
    push!(code.seen, F)
    for m in matching_methods(Tuple{F,Vararg{Any}})
        method = method_in(m)
        (isours(method.module) || !has_code(method)) && continue
        parameters = Base.unwrap_unionall(method.sig).parameters
        for i in 2:length(parameters)
            code.asks |= tells_numbers_apart(Base.rewrap_unionall(Base.unwrapva(parameters[i]), method.sig))
        end
        look_at_lowered!(code, Base.uncompressed_ast(method).code)
    end
end
matching_methods(@nospecialize(signature)) = Base._methods_by_ftype(signature, -1, Base.get_world_counter())
method_in(@nospecialize(m)) = (m isa Core.SimpleVector ? m[3] : m.method)::Method
has_code(method::Method) = isdefined(method, :source) && method.source !== nothing  # a generated function has none

# Whether a parameter takes some numbers and refuses the symbols in their place.
tells_numbers_apart(@nospecialize(P)) = P isa Type && typeintersect(P, Number) !== Union{} && !(Sym <: P)

function look_at_lowered!(code::Code, statements::Vector{Any})
    named, modules = Symbol[], Module[]
    for s in statements
        look_at_statement!(code, s, named, modules)
    end
    for m in modules, name in named  # Module.name is a call of getproperty
        look_at_global!(code, m, name)
    end
end

function look_at_statement!(code::Code, @nospecialize(s), named::Vector{Symbol}, modules::Vector{Module})
    if s isa GlobalRef
        look_at_global!(code, s.mod, s.name)
        isdefined(s.mod, s.name) && getfield(s.mod, s.name) isa Module && push!(modules, getfield(s.mod, s.name))
    elseif s isa QuoteNode
        s.value isa Symbol && push!(named, s.value)
    elseif s isa Expr
        code.asks |= s.head === :static_parameter || s.head === :enter
        for a in s.args
            look_at_statement!(code, a, named, modules)
        end
    elseif s isa Union{Function,Type}
        look!(code, s)
    elseif parentmodule(typeof(s)) === Core && !(s isa Core.CodeInfo)  # ReturnNode, GotoIfNot, EnterNode
        code.asks |= is_enter(s)
        for i in 1:nfields(s)
            isdefined(s, i) && look_at_statement!(code, getfield(s, i), named, modules)
        end
    end
end

function look_at_global!(code::Code, mod::Module, name::Symbol)
    code.asks |= mod === Core && name === :typeassert
    isdefined(mod, name) && !isours(mod) || return
    value = getfield(mod, name)
    code.asks |= asks_type(value)
    isconst(mod, name) && stable(value) || push!(code.globals, GlobalRead(mod, name, value))
    look!(code, value)
end
