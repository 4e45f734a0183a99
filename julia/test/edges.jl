# Where the obvious way has another answer than Base's: found by comparing the two on odd arguments.

const from_host = TCUArray

if DEVICE === :cpu  # Base's loop, which no GPU runs
    y = from_host(zeros(4))
    y .= rand.()
    @test length(unique(Array(y))) == 4
    dropped(v) = v * (rand() > 0.5)
    @test 0 < sum(Array(dropped.(from_host(ones(64))))) < 64
    branching(v) = v > 0 ? v : -v
    x = from_host(collect(1.0:9))
    view(x, 2:9) .= branching.(view(x, 1:8))  # over its own input
    @test Array(x) == [1, 1, 2, 3, 4, 5, 6, 7, 8]
    x = from_host([1.0 2; 3 4])
    x .= branching.(transpose(x))
    @test Array(x) == [1 3; 2 4]
    several(v) = v > 0 ? v : 0  # of two types
    @test Array(several.(from_host([-1.0, 0.5]))) == [0, 0.5]
    @test sum(several, from_host([-1.0, 0.5])) == 0.5
    @test eltype(several.(from_host(Float64[]))) == Float64 && sum(several, from_host(Float64[])) == 0
    calls = Ref(0)
    counted(v) = (calls[] += 1; v > 0 ? v : 0)
    counted.(from_host([-1.0, 0.5, 2]))
    @test calls[] == 3  # what recording left there is put back
    @test Array(getindex.(Ref([4.0, 5]), from_host([2, 1]))) == [5, 4]
    failing(v) = error("no")
    @test message(() -> failing.(from_host([1.0]))) == "no"
    @test Array(TCUOps.recurrence(several.(from_host([-1.0, 2])), TCUOps.lazy.(several.(from_host([1.0, 2]))))) == [1, 4]
end

# Functions that catch what says that they cannot be recorded, that print numbers, and that ask for methods.
caught(v) = try v > 0 ? v : -v catch; -1.0 end
rooted(v) = try sqrt(v) catch; -1.0 end
asking(v) = applicable(exponent, v) ? v : -v
let a = [-4.0, 9.0, 0.25]
    if DEVICE === :cpu
        for f in (caught, rooted, v -> caught(v) + 1, v -> length(string(v)), v -> v + length("$v"))
            @test compare(x -> f.(x), a; outside = true)
            @test compare(x -> sum(f, x), a; outside = true)
        end
        @test message(() -> (v -> error("is $v")).(from_host([1.0]))) == "is 1.0"
    else
        @test thrown(() -> caught.(from_host(a))) == ArgumentError
    end
    @test compare(x -> asking.(x), a)
end

# Functions that write to what they carry, or to a global: for each element, and recording leaves no trace.
mutable struct Counting
    n::Int
    weights::Vector{Float64}
end
(c::Counting)(v) = (c.n += 1; c.weights[1] += c.n; c.weights[1] * v)
n_of_global = 0
counting_global(v) = (global n_of_global += 1; n_of_global * v)
const KEPT_COUNT = Ref(0)
counting_constant(v) = (KEPT_COUNT[] += 1; KEPT_COUNT[] * v)
summing(x) = (s = 0.0; y = map(v -> (s += v), x); (to_host(y), s))
writers(x) = (c = Counting(0, [0.0]); y = c.(x); (to_host(y), c.n, c.weights[1]))
with_global(x) = (global n_of_global = 0; y = counting_global.(x); (to_host(y), n_of_global))
with_constant(x) = (KEPT_COUNT[] = 0; y = counting_constant.(x); (to_host(y), KEPT_COUNT[]))
growing(x) = (seen = Any[]; y = (v -> (push!(seen, v); length(seen) * v)).(x); (to_host(y), seen[3] isa Float64))
filling(x) = (seen = Dict{Int,Int}(); y = (v -> (seen[length(seen)] = 1; length(seen) * v)).(x); (to_host(y), length(seen)))
drawing(x) = (rng = MersenneTwister(3); to_host((v -> v * rand(rng)).(x) .+ rand.(Ref(rng))))
drawn(x) = (Random.seed!(5); to_host((v -> v * rand()).(x)))
iterating(x) = (numbers = Iterators.Stateful(1:9); to_host((v -> v * popfirst!(numbers)).(x)))
for f in (summing, writers, with_global, with_constant, growing, filling, drawing, drawn, iterating)
    if DEVICE === :cpu
        @test compare(f, [1.0, 2.0, 4.0]; outside = true)
    else
        @test thrown(() -> f(from_host([1.0, 2.0, 4.0]))) == ArgumentError
    end
end
let c = Counting(1, [2.0])
    @test thrown(() -> c.(from_host([1.0]))) == (DEVICE === :cpu ? Nothing : ArgumentError)
    @test (c.n, c.weights[1]) == (DEVICE === :cpu ? (2, 4.0) : (1, 2.0))
end
@test compare(x -> (v -> (s = zero(v); foreach(k -> s += k * v, 1:3); s)).(x), [1.0, 2.0])  # what it makes itself it may write

z = from_host([1.0+2im 3; 4 5im])
@test thrown(() -> copyto!(z', ones(ComplexF64, 2, 2))) == ArgumentError

@test Array(TCUOps.scan(max, from_host(Int8[-5, -7]); exclusive = true)) == [-128, -5]
@test Array(TCUOps.scan(min, from_host(Int32[1, 2]); exclusive = true)) == [typemax(Int32), 1]
@test Array(TCUOps.scan(max, from_host([true, false]); exclusive = true)) == [false, true]
@test Array(TCUOps.segmented_scan(max, from_host(Int8[1, 2, 3]), [0, 1, 3]; exclusive = true)) == [-128, -128, 2]
@test Array(accumulate(max, from_host(Int8[3, -1, 5]))) == [3, 3, 5]
@test Array(TCUOps.scan(+, from_host([1.0, 2, 3]); dims = 2, exclusive = true)) == zeros(3)
@test Array(TCUOps.scan(+, from_host([1.0, 2, 3]); dims = 2, exclusive = true, init = 5.0)) == fill(5.0, 3)

@test prod(from_host(fill(100, 10)); init = 1.0) == 1e20
@test sum(from_host(fill(typemax(Int), 4)); init = 0.0) ≈ 4 * 2.0^63
@test isnan(var(from_host(zeros(0)); mean = 0.0))
@test var(from_host([1.0, 3]); mean = 2.0) == varm(from_host([1.0, 3]), 2.0) == 2
@test stdm(from_host([1.0, 3]), 2.0; corrected = false) == 1
@test Array(varm(from_host([1.0 2; 3 6]), from_host([2.0 4]); dims = 1)) == [2 8]
for p in (1, Inf, 3)
    @test norm(from_host(Int8[-128]), p) ≈ 128
end

@test Array(isinteger.(from_host([Inf, 1.0, 1.5]))) == [false, true, false]
for (a, b) in (([-3.0, 2.5, -2.5, 7], 0.1), (Int8[-128, -7, 7, 100], Int8(100)), ([-7, 7, -8, 8], 2), ([-7, 7, -8, 8], -2),
               (UInt8[255, 3], 0x02), (Float32[-7.5, 7.5], 2.0f0))
    @test Array(fld.(from_host(a), b)) == fld.(a, b)
    @test Array(cld.(from_host(a), b)) == cld.(a, b)
end

# Integers of both kinds of sign are compared and divided as numbers, and shifted as what they are.
extremes(T) = T <: Signed ? T[typemin(T), -100, -3, 1, 100, typemax(T)] : T[1, 2, 100, typemax(T) ÷ 2 + 1, typemax(T)]
for (T, S) in ((Int8, UInt8), (UInt8, Int8), (Int32, UInt64), (UInt64, Int64), (Int64, UInt8), (UInt32, Int64), (Int8, Int64))
    a, b = extremes(T), permutedims(extremes(S))
    for f in (==, !=, <, <=, >, >=, isequal, isless)
        @test compare((x, y) -> f.(x, y), a, b)
    end
    for f in (div, rem, mod, fld, cld)
        (T <: Signed) == (S <: Signed) || @test compare((x, y) -> f.(x, y), a, b)
    end
    counts = permutedims(S <: Signed ? S[-100, -9, -1, 0, 1, 8, 33, 64, 100] : S[0, 1, 8, 33, 64, 100, 200])
    for f in (<<, >>)
        @test compare((x, y) -> f.(x, y) .+ 0, a, counts)
    end
end
@test compare((x, n) -> x .^ n .+ 0, Int8[-3, 2, 100], permutedims([0, 1, 2, 5]))
@test compare(x -> x .> -1, UInt64[0, typemax(UInt64)])
@test compare(x -> (v -> v << -1 | 1 << v).(x), UInt8[1, 7])
for T in (Int16, UInt16), f in (mod1, fld1)
    @test compare((x, y) -> f.(x, y), T[1, 2, 5, 6, 7], T[3, 3, 5, 2, 7]')
end

# What is not finite, and zeros with signs.
odd = [NaN, Inf, -Inf, 0.0, -0.0, 1.0, -2.5]
for T in (Float32, Float64)
    a = T.(odd)
    for f in (isequal, isless)
        @test compare((x, y) -> f.(x, y), a, permutedims(a))
        @test compare(x -> f.(x, 0) .| f.(0.0, x), a)
    end
    for (f, other) in ((fld, T[Inf 1 -3]), (cld, T[Inf 1 -3]), (mod1, T[1 -3 2.5]), (fld1, T[1 -3 2.5]))
        @test isequal(Array(f.(from_host(a), from_host(other))), f.(a, other))
    end
    @test isequal(Array(from_host(a) .* from_host([true false])), a .* [true false])
    @test isequal(Array((v -> (v > 0) * v).(from_host(a))), (v -> (v > 0) * v).(a))
    @test isequal(from_host(a), from_host(a)) && !isequal(from_host(T[0]), from_host(T[-0.0])) && from_host(a) != from_host(a)
end
@test sum(from_host([1.0, NaN]) .* from_host([true, false])) == 1
@test Array(from_host([true, false]) .* from_host([1.0+2im, complex(NaN, Inf)])) == [1 + 2im, 0]
@test Array(isreal.(from_host([1.0+2im, 3]))) == [false, true]
