# Two results of one read: a function that returns a pair, broadcast into two arrays.

"A function that returns a pair. On symbols it leaves both values on one tape (`leave_both`, called by `record_call`)."
struct Paired{F}
    f::F
end
(p::Paired)(xs...) = p.f(xs...)

leave_both(@nospecialize(x)) = throw(Unrecordable("it returns a $(typeof(x)), and must return two numbers"))
function leave_both(pair::Tuple{Any,Any})
    a, b = lift(Bool, pair[1]), lift(Bool, pair[2])
    return symbol(Tuple{symbol_type(a),symbol_type(b)}, [tape_of(a); tape_of(b)])
end

pair_tree(f, xs...) = tree(Paired(f), xs...)

function pair_types(bc::Broadcasted)
    T = element_type(bc)
    T <: Tuple{Any,Any} || throw(ArgumentError("the function returns a $T, and must return two numbers"))
    return fieldtype(T, 1), fieldtype(T, 2)
end

function run_pair!(@nospecialize(y::TCUArray), @nospecialize(z::TCUArray), @nospecialize(bc::Broadcasted))
    length(y) == 0 && return
    failure = try_map!(y, bc, z)
    isempty(failure) && return
    iscpu(context(y)) || throw(ArgumentError(failure))
    count_outside(string("broadcast_pair: ", failure))
    GC.@preserve y z bc begin
        pairs = Broadcast.materialize(host_tree(bc))
        copyto!(hostview(y), map(first, pairs))
        copyto!(hostview(z), map(last, pairs))
    end
    return
end

function pair_of(bc::Broadcasted)
    A, B = pair_types(bc)
    y, z = similar(bc, A), similar(bc, B)
    run_pair!(opaque(y), opaque(z), opaque(bc))
    return y, z
end

"""
    TCUOps.broadcast_pair(f, xs...) -> (TCUArray, TCUArray)

`f.(xs...)` of a scalar function that returns two numbers, each in an array of its own: one call of the library, which reads `xs` once.
What both results share is computed once.

    y, slope = TCUOps.broadcast_pair(x -> (t = tanh(x); (t, 1 - t^2)), x)
"""
broadcast_pair(f, xs...) = pair_of(pair_tree(f, xs...))

"""
    TCUOps.broadcast_pair!(f, y, z, xs...) -> (y, z)

The same into `y` and `z`, of the size that `xs` broadcast to. `y` may be one of `xs`; `z` shares no memory with `y` or `xs`. Where the two
lie differently in memory, or one is a view with gaps, they are written from temporary arrays.
"""
function broadcast_pair!(f, y::AnyTCU, z::AnyTCU, xs...)
    bc = pair_tree(f, xs...)
    for out in (y, z)
        axes(out) == axes(bc) || Broadcast.throwdm(axes(out), axes(bc))
    end
    a, b = strided_output(y), strided_output(z)
    if strides(a) == strides(b)
        run_pair!(opaque(a), opaque(b), opaque(bc))
    else
        first, second = pair_of(bc)
        copyto!(y, first), copyto!(z, second)
    end
    return y, z
end
