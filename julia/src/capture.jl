# Functions that carry numbers: a closure over a scalar, Base.Fix2, a composition. The numbers travel by value with every
# call: for recording, the function is rebuilt with symbols in their place.

# What a value's type says of it:
#   Nothing  it carries nothing: the type is all there is
#   Sym{T}   it is itself a scalar
#   a type   it carries scalars, and can be rebuilt as this type with symbols in their place
#   Any      it carries something else, and is recorded for the very value
function captured_type(@nospecialize(F))
    isdtype(F) && return Sym{F}
    isconcretetype(F) && !is_mutable_type(F) && !(F <: Number) || return Any
    fieldcount(F) == 0 && return sizeof(F) == 0 ? Nothing : Any
    parameters = Any[F.parameters...]
    changed = false
    for i in 1:fieldcount(F)
        C = captured_type(fieldtype(F, i))
        C === Nothing && continue
        position = parameter_of_field(F, i)
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

# Which of F's parameters is the type of field i, or nothing.
function parameter_of_field(@nospecialize(F), i::Int)
    generic = Base.unwrap_unionall(F.name.wrapper)
    return findfirst(p -> p === fieldtype(generic, i), Any[generic.parameters...])
end

is_mutable_type(@nospecialize(F)) = isdefined(Base, :ismutabletype) ? Base.ismutabletype(F) : F.mutable

# Appends what f carries to the call: scalars to the scalars, the rest to what the recording depends on by value.
@generated function capture!(call::Call, f)
    C = captured_type(f)
    C === Nothing && return nothing
    C === Any && return :(bake!(call, f))
    C <: Sym && return :(push_scalar!(call, f))
    return Expr(:block, (:(capture!(call, getfield(f, $i))) for i in 1:fieldcount(f))..., nothing)
end

function bake!(call::Call, f)
    push!(call.baked, f)
    stable(f) || (call.volatile = true)
    return
end

# Whether a value that is identical (===) now will mean the same later.
stable(x) = isbits(x) || x isa Union{Type,Symbol,Module,String} ||
    !is_mutable_type(typeof(x)) && Base.all(i -> isdefined(x, i) && stable(getfield(x, i)), 1:nfields(x))

# The counterpart of capture!, in the same order: f with symbols for its scalars.
function symbolize(slots::Base.RefValue{Int}, f)
    f isa Element && return scalar_symbol(typeof(f), (slots[] += 1) - 1)
    C = captured_type(typeof(f))
    C isa DataType && C !== Nothing && C !== Any || return f
    fields = Any[symbolize(slots, getfield(f, i)) for i in 1:nfields(f)]
    return ccall(:jl_new_structv, Any, (Any, Ptr{Any}, UInt32), C, fields, length(fields))
end
