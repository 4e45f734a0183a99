# What a function may write while it is recorded: mutable values that it carries or names, and globals. Recorded, it would write once and
# not for each element, and what it left there could be a symbol. All is put back as it was, and the function is left to Base's loop.

struct State
    contents::IdDict{Any,Any}       # of mutable values: a copy of an array, a vector of another's fields
    globals::Vector{GlobalRead}
end

const MAX_KEPT_VALUES, MAX_KEPT_ELEMENTS = 1000, 1 << 16  # beyond them nobody looks
const FlatArray = isdefined(Core, :Memory) ? Union{Array,Core.Memory} : Array
# Base's own mutable types that are looked at. Not tasks and streams, and nothing atomic, which another thread may write meanwhile.
const Written = Union{Ref,Core.Box,AbstractDict,AbstractSet,BitArray,Iterators.Stateful}

function state_of(carried::Vector{Any}, globals::Vector{GlobalRead})
    state = State(IdDict{Any,Any}(), globals)
    for x in carried
        keep!(state, x)
    end
    for g in globals
        keep!(state, g.value)
    end
    return state
end

struct Undefined end
# A field that is atomic (from Julia 1.7 on) cannot be read as others are.
is_readable(@nospecialize(x), i::Int) = !(isdefined(Base, :isfieldatomic) && Base.isfieldatomic(typeof(x), i)) && isdefined(x, i)
field_or_none(@nospecialize(x), i::Int) = is_readable(x, i) ? getfield(x, i) : Undefined()

function keep!(state::State, @nospecialize(x))
    x isa Union{Number,AbstractString,Symbol,Module,Type} && return
    if x isa FlatArray || is_mutable_type(typeof(x))
        x isa FlatArray || x isa Written || !isours(typeof(x)) || return
        (haskey(state.contents, x) || length(state.contents) >= MAX_KEPT_VALUES) && return
        x isa FlatArray && return keep_elements!(state, x)
        state.contents[x] = Any[field_or_none(x, i) for i in 1:nfields(x)]
    end
    for i in 1:nfields(x)
        is_readable(x, i) && keep!(state, getfield(x, i))
    end
end
function keep_elements!(state::State, x)
    length(x) <= MAX_KEPT_ELEMENTS || return
    state.contents[x] = copy(x)
    isbitstype(eltype(x)) && return
    for i in eachindex(x)
        isassigned(x, i) && keep!(state, x[i])
    end
end

"Puts all back, and says whether anything had been written."
function put_back!(state::State)
    written = false
    for (x, contents) in state.contents
        written |= x isa FlatArray ? put_elements_back!(x, contents) : put_fields_back!(x, contents)
    end
    for g in state.globals
        unchanged(g) && continue
        written = true
        Core.eval(g.mod, Expr(:(=), g.name, QuoteNode(g.value)))
    end
    return written
end
function put_elements_back!(x, elements)
    same_elements(x, elements) && return false
    length(x) == length(elements) || resize!(x, length(elements))
    copyto!(x, elements)
    return true
end
same_elements(x, y) = size(x) == size(y) && Base.all(i -> same_element(x, y, i), eachindex(x))
same_element(x, y, i) = isassigned(x, i) ? isassigned(y, i) && x[i] === y[i] : !isassigned(y, i)
function put_fields_back!(@nospecialize(x), fields::Vector{Any})
    written = false
    for i in 1:length(fields)
        field_or_none(x, i) === fields[i] && continue
        written = true
        fields[i] isa Undefined || setfield!(x, i, fields[i])
    end
    return written
end
