# How many calls each kernel of the library served, and how many fell outside it.

const OUTSIDE = Dict{String,Int}()
const OUTSIDE_LOCK = ReentrantLock()

count_outside(what::String) = lock(OUTSIDE_LOCK) do
    OUTSIDE[what] = get(OUTSIDE, what, 0) + 1
end

"""
    TCUOps.kernel_calls([context]) -> Vector{Pair{String,Int}}

The kernels of the context's registry in the planner's order, each with the number of calls that it has served since the
process started. Any thread may call it.
"""
function kernel_calls(c::Context = default_context())
    count = Ref{Int32}(0)
    check(@tcu tcu_kernel_count(c.handle::Ptr{Cvoid}, count::Ptr{Int32})::Int32)
    return map(0:count[]-1) do i
        name, calls = Ref{Cstring}(C_NULL), Ref{Int64}(0)
        check(@tcu tcu_kernel_name(c.handle::Ptr{Cvoid}, i::Int32, name::Ptr{Cstring})::Int32)
        check(@tcu tcu_kernel_calls(c.handle::Ptr{Cvoid}, i::Int32, calls::Ptr{Int64})::Int32)
        unsafe_string(name[]) => Int(calls[])
    end
end

"""
    TCUOps.outside_calls() -> Dict{String,Int}

What was computed by Julia's own loops on the CPU because the library could not, and how often: functions that cannot be
recorded, reductions by an operator that is not in the table, irregular indexing. Matrix products are BLAS's and not counted.
"""
outside_calls() = lock(() -> copy(OUTSIDE), OUTSIDE_LOCK)

"Print `kernel_calls` (those that served any) and the number of `outside_calls`."
function print_calls(io::IO = stdout, c::Context = default_context())
    served = filter(p -> p.second > 0, kernel_calls(c))
    width = Base.maximum(length, Iterators.flatten((map(first, served), ("outside the library",))))
    println(io, rpad("kernel", width), "  calls")
    for (name, calls) in served
        println(io, rpad(name, width), "  ", calls)
    end
    outside = outside_calls()
    println(io, rpad("outside the library:", width + 2), foldl(+, values(outside); init = 0))
    for (what, calls) in sort!(collect(outside))
        println(io, "  ", calls, " × ", what)
    end
end
