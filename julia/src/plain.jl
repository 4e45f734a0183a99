# The same operations on plain arrays, without touching Base's methods for them: TCUOps.sum(x; dims) and so on. An Array is
# wrapped without a copy on the CPU; with CUDA.jl loaded a CuArray is wrapped on its GPU (ext/TCUOpsCUDAExt.jl).

"Arrays that `wrap` can take without a copy, TCUArrays apart. The CUDA extension adds methods of `shared` for its own."
shared(x::Array) = wrap(x)
shared(x) = x

# A result on the same footing as the argument.
unshared(::Array, result) = unwrap(result)
unshared(::Array, result::Tuple) = map(unwrap, result)
unshared(like, result) = result

for name in (:sum, :prod, :maximum, :minimum, :any, :all, :count, :extrema, :argmax, :argmin, :findmax, :findmin,
             :cumsum, :cumprod)
    @eval begin
        $name(x; options...) = unshared(x, Base.$name(shared(x); options...))
        $name(f, x; options...) = unshared(x, Base.$name(f, shared(x); options...))
    end
end
for name in (:mean, :var, :std)
    @eval $name(x; options...) = unshared(x, Statistics.$name(shared(x); options...))
end
mean(f, x; options...) = unshared(x, Statistics.mean(f, shared(x); options...))
norm(x, p::Real = 2) = LinearAlgebra.norm(shared(x), p)
function logsumexp(x::AbstractArray; options...)
    y = shared(x)
    y isa Reducible || return logsumexp(Array(x); options...)  # a range, or a view of an Array
    return unshared(x, logsumexp(y; options...))
end

"""
    TCUOps.sum([f,] x; dims = :, init), prod, maximum, minimum, any, all, count, extrema, argmax, argmin, findmax, findmin,
    mean, var, std, norm, logsumexp, cumsum, cumprod, accumulate(op, x; dims, init), mapreduce(f, op, x...; dims, init), broadcast(f, x...)

The library's operations on plain arrays: an `Array` is computed on by the CPU backend without a copy and gives an `Array` (or a
number); a `CuArray` likewise on its GPU when CUDA.jl is loaded; a TCUArray as Base's function of the same name.
"""
sum

mapreduce(f, op, x, ys...; options...) = unshared(x, Base.mapreduce(f, op, shared(x), map(shared, ys)...; options...))
accumulate(op, x; options...) = unshared(x, Base.accumulate(op, shared(x); options...))
broadcast(f, x, ys...) = unshared(x, Base.broadcast(f, shared(x), ys...))
"""
    TCUOps.broadcast!(f, dest, xs...) -> dest

`dest .= f.(xs...)` by the library, for plain arrays too.
"""
broadcast!(f, dest, xs...) = (Base.broadcast!(f, shared(dest), map(shared, xs)...); dest)
