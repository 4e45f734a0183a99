# Several results of one read: a function that returns some numbers, broadcast into as many arrays.

"A function that returns a tuple. On symbols it leaves all its values on one tape (`leave_all`, called by `record_call`)."
struct Several{F} <: Function
    f::F
end
(s::Several)(xs...) = s.f(xs...)

leave_all(@nospecialize(x)) = throw(Unrecordable("it returns a $(typeof(x)), and must return 2 to $MAX_RESULTS numbers"))
function leave_all(results::Tuple)
    2 <= length(results) <= MAX_RESULTS || throw(Unrecordable("it returns $(length(results)) values, and must return 2 to $MAX_RESULTS"))
    symbols = Any[lift(Bool, r) for r in results]
    tape = reduce(vcat, Any[tape_of(s) for s in symbols])::Vector{CNode}
    length(tape) <= MAX_NODES || throw(Unrecordable(
        "its results have more than $MAX_NODES nodes together; take fewer at a time, or keep a part that is used twice in an array"))
    return symbol(Tuple{Any[symbol_type(s) for s in symbols]...}, tape)
end

several_tree(f, xs...) = untyped_tree(Several(f), xs...)

# The types of the results, of which there are to be so many.
function result_types(bc::Broadcasted, counts)
    T = element_type(bc)
    n = T isa DataType && T <: Tuple && isconcretetype(T) ? fieldcount(T) : 0
    n in counts || throw(ArgumentError("the function returns a $T, and must return $(join(counts, ", ", " or ")) numbers"))
    return fieldtypes(T)
end

function run_several!(@nospecialize(outs::Tuple), @nospecialize(bc::Broadcasted))
    y = outs[1]
    length(y) == 0 && return
    failure = try_map!(y, bc, Base.tail(outs))
    isempty(failure) && return
    iscpu(context(y)) || throw(ArgumentError(failure))
    count_outside(string("broadcast_several: ", failure))
    GC.@preserve outs bc begin
        tuples = Broadcast.materialize(host_tree(bc))
        tuples isa AbstractArray || (tuples = fill(tuples))  # of no dimensions
        for (i, out) in enumerate(outs)
            copyto!(hostview(out), map(t -> t[i], tuples))
        end
    end
    return
end

function several_of(bc::Broadcasted, types)
    outs = map(T -> similar(bc, T), types)
    run_several!(opaque(outs), opaque(bc))
    return outs
end

function fill_several!(outs::Tuple, bc::Broadcasted)
    types = result_types(bc, 2:MAX_RESULTS)
    length(types) == length(outs) || throw(ArgumentError("the function returns $(length(types)) numbers for $(length(outs)) arrays"))
    for out in outs
        axes(out) == axes(bc) || Broadcast.throwdm(axes(out), axes(bc))
    end
    at = map(strided_output, outs)
    if all(a -> strides(a) == strides(at[1]), at)
        run_several!(opaque(at), opaque(bc))
    else
        foreach(copyto!, outs, several_of(bc, types))
    end
    return outs
end

"""
    TCUOps.broadcast_several(f, xs...) -> tuple of TCUArrays

`f.(xs...)` of a scalar function that returns 2 to 4 numbers, each in an array of its own: one call of the library, which reads `xs` once.
What the results share is computed once. Three results take up to 15 arrays, four 14.

    y, slope, curvature = TCUOps.broadcast_several(x -> (t = tanh(x); s = 1 - t^2; (t, s, -2t * s)), x)
"""
function broadcast_several(f, xs...)
    bc = several_tree(f, xs...)
    return several_of(bc, result_types(bc, 2:MAX_RESULTS))
end

"""
    TCUOps.broadcast_several!(f, outs, xs...) -> outs

The same into the arrays of the tuple `outs`, of the size that `xs` broadcast to. The first may be one of `xs`; the others share no memory
with each other, the first or `xs`. Where they lie differently in memory, or one is a view with gaps, they are written from temporary arrays.
"""
broadcast_several!(f, outs::Tuple{AnyTCU,AnyTCU,Vararg{AnyTCU}}, xs...) = fill_several!(outs, several_tree(f, xs...))

"""
    TCUOps.broadcast_pair(f, xs...) -> (TCUArray, TCUArray)

[`broadcast_several`](@ref) of a function that returns two numbers.

    y, slope = TCUOps.broadcast_pair(x -> (t = tanh(x); (t, 1 - t^2)), x)
"""
function broadcast_pair(f, xs...)
    bc = several_tree(f, xs...)
    return several_of(bc, result_types(bc, 2))
end

"""
    TCUOps.broadcast_pair!(f, y, z, xs...) -> (y, z)

[`broadcast_several!`](@ref) of a function that returns two numbers.
"""
broadcast_pair!(f, y::AnyTCU, z::AnyTCU, xs...) = fill_several!((y, z), several_tree(f, xs...))
