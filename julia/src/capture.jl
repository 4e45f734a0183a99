# Functions that carry numbers: a closure over a scalar, Base.Fix2, a composition. The numbers travel by value with every
# call: for recording, the function is rebuilt with symbols in their place.

# What a function's type says of it:
#   Nothing  carries nothing: the type is all there is
#   Sym{T}   is itself a scalar
#   a type   carries scalars, and is rebuilt as this type
#   Any      carries something else: recorded for the very value
captured_type(::Type{T}) where {T} = _captured_type(T)
function _captured_type(@nospecialize(F))
    F <: Element && return Sym{F}
    F <: Type && return Nothing
    isconcretetype(F) || return Any
    (F.mutable_ ? true : false) && return Any
    return Any
end

function captured_type(@nospecialize(F::DataType), ::Val{:reflect})
    F <: Element && isconcretetype(F) && return Sym{F}
    F <: Type && return Nothing
    isconcretetype(F) && isimmutable_type(F) || return Any
    fieldcount(F) == 0 && return sizeof(F) == 0 ? Nothing : Any
    generic = Base.unwrap_unionall(F.name.wrapper)
    parameters = Any[F.parameters...]
    changed = false
    for i in 1:fieldcount(F)
        C = captured_type(fieldtype(F, i), Val(:reflect))
        C === Nothing && continue
        position = findfirst(p -> p === fieldtype(generic, i), Any[generic.parameters...])
        (C === Any || position === nothing) && return Any
        parameters[position] = C
        changed = true
    end
    changed || return Nothing
    return try
        F.name.wrapper{parameters...}
    catch
        Any   # a bound on the parameter that Sym does not meet
    end
end
