# Helpers of the tests.

on_device(a::AbstractArray) = TCUArray(a)
on_device(x) = x
to_host(x::TCUOps.AnyTCU) = Array(x)
to_host(x::Tuple) = map(to_host, x)
to_host(x) = x

tolerance(::Type{T}) where {T} = 0.0
tolerance(::Type{T}) where {T<:AbstractFloat} = 16 * Float64(eps(T))
tolerance(::Type{Complex{T}}) where {T} = tolerance(T)

same(a::Tuple, b::Tuple, slack) = length(a) == length(b) && all(same(x, y, slack) for (x, y) in zip(a, b))
same(a::Number, b::Number, slack) = typeof(a) == typeof(b) && close(a, b, slack * tolerance(typeof(a)))
same(a::AbstractArray{<:Number}, b::AbstractArray{<:Number}, slack) =
    size(a) == size(b) && eltype(a) == eltype(b) && all(close(x, y, slack * tolerance(eltype(a))) for (x, y) in zip(a, b))
same(a::AbstractArray{<:Tuple}, b::AbstractArray{<:Tuple}, slack) =
    size(a) == size(b) && all(same(x, y, slack) for (x, y) in zip(a, b))
same(a, b, slack) = isequal(a, b)

close(x, y, tol) = isequal(x, y) || x == y || abs(x - y) <= tol * max(abs(x), abs(y), 1)
close(x::BFloat16, y::BFloat16, tol) = close(Float64(x), Float64(y), tol)

"f gives the same on Arrays and on TCUArrays, and on the device without leaving the library. Long sums need slack."
function compare(f, arrays...; outside = false, slack = 1)
    expected = f(map(copy, arrays)...)
    before = sum(values(TCUOps.outside_calls()))
    got = f(map(on_device, arrays)...)
    left = sum(values(TCUOps.outside_calls())) - before
    ok = same(expected, to_host(got), slack)
    ok || println("expected ", short(expected), "\n     got ", short(to_host(got)))
    outside || left == 0 || println("left the library: ", TCUOps.outside_calls())
    return ok && (outside || left == 0)
end
short(x) = (s = string(typeof(x), " ", x); length(s) > 400 ? string(first(s, 400), "…") : s)

"What f throws, as a type; Nothing when it does not."
function thrown(f)
    try
        f()
        return Nothing
    catch e
        return typeof(e)
    end
end
message(f) = try
    f()
    ""
catch e
    sprint(showerror, e)
end

sample(T, dims...) = reshape(T[one_sample(T) for _ in 1:prod(dims)], dims)
one_sample(T) = T(rand(-4:4))
one_sample(T::Type{<:Unsigned}) = T(rand(0:8))
one_sample(T::Type{Bool}) = rand(Bool)
one_sample(T::Type{<:AbstractFloat}) = T(randn())
one_sample(T::Type{<:Complex}) = T(randn(ComplexF64))

const INTEGERS = [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64]
const FLOATS = [Float16, BFloat16, Float32, Float64]
const COMPLEX = [ComplexF32, ComplexF64]

# Views that every operation must take: each makes one of an array, on either side.
const VIEWS = [
    a -> a,
    a -> view(a, ntuple(d -> 1:2:size(a, d), ndims(a))...),
    a -> view(a, ntuple(d -> size(a, d):-1:1, ndims(a))...),
    a -> view(a, ntuple(d -> d == 1 ? (2:size(a, 1)) : (:), ndims(a))...),
    a -> PermutedDimsArray(a, ntuple(d -> ndims(a) + 1 - d, ndims(a))),
    a -> ndims(a) > 1 ? view(a, ntuple(d -> d == 2 ? 1 : (:), ndims(a))...) : a,
]
const SHAPES = [(), (0,), (1,), (7,), (31,), (64,), (0, 3), (3, 0), (1, 5), (5, 1), (13, 17), (8, 32), (3, 5, 7), (1, 4, 1), (4, 3, 2, 5)]

# Bytes of the host's that a call allocates, once it has run.
repeated(f, args...) = (for _ in 1:1000 f(args...) end)
bytes(f, args...) = (repeated(f, args...); div(@allocated(repeated(f, args...)), 1000))
