# Reductions: every name, shapes, dims, types, views, empties, init, fused functions.

const DIMS = [:, 1, 2, 3, (1, 2), (1, 3), (2, 3), (1, 2, 3), 4, (1, 5)]

@testset "shapes and dims" begin
    for f in (sum, maximum, minimum, prod), dims in DIMS
        @test compare(x -> f(x; dims = dims), randn(5, 7, 3))
        @test compare(x -> f(x; dims = dims), rand(-3:3, 2, 3, 4))
        @test compare(x -> f(x; dims = dims), randn(Float32, 1, 31, 2))
    end
    for shape in SHAPES
        a = sample(Float64, shape...)
        @test compare(x -> sum(x), a; slack = 10)
        @test compare(x -> prod(x), a)
        shape == () || @test compare(x -> sum(x; dims = 1), a)         # Base 1.5 has a BoundsError
        @test compare(x -> count(x .> 0), a)
        @test compare(x -> any(x .> 0), a)
        @test compare(x -> all(x .> 0), a)
        isempty(a) || @test compare(x -> (maximum(x), minimum(x), extrema(x)), a)
        isempty(a) || @test compare(x -> argmax(x), a)
    end
    for view_of in VIEWS, dims in (:, 1, 2, (1, 2))
        a = randn(9, 8, 5)
        @test compare(x -> sum(view_of(x); dims = dims), a; slack = 10)
        @test compare(x -> maximum(view_of(x); dims = dims), a)
        @test compare(x -> argmin(view_of(x); dims = dims), a)
        @test compare(x -> sum(abs2, view_of(x); dims = dims), a)
    end
    @test compare(x -> sum(x; dims = (1, 3, 5)), randn(3, 4, 5, 2, 3))
    @test compare(x -> sum(x; dims = (1, 2, 4)), randn(8, 8, 3, 16))
    @test compare(x -> sum(x; dims = (2, 4, 6, 8)), randn(2, 3, 2, 3, 2, 3, 2, 3, 2))
    @test compare(x -> sum(x), fill(3.0))
    @test compare(x -> sum(x), collect(1.0:1000))
    @test compare(x -> sum(x), randn(10_007); slack = 100)
end

@testset "types" begin
    for T in [Bool; INTEGERS; FLOATS]
        a = sample(T, 6, 5)
        T === BFloat16 || @test compare(x -> sum(x), a)
        T === BFloat16 || @test compare(x -> sum(x; dims = 2), a)
        @test compare(x -> maximum(x; dims = 1), a)
        @test compare(x -> minimum(x), a)
        @test compare(x -> prod(x; dims = 1), sample(T, 3, 5))
        @test compare(x -> reduce(+, x; dims = 1), sample(T, 3, 5))
        @test compare(x -> argmax(x; dims = 1), a)
    end
    for T in COMPLEX
        @test compare(x -> sum(x; dims = 1), sample(T, 6, 5))
        @test compare(x -> prod(x), sample(T, 6))
        @test compare(x -> sum(abs2, x), sample(T, 6, 5))
    end
    @test compare(x -> sum(x), fill(Int8(100), 10))
    @test compare(x -> reduce(+, x), fill(Int8(100), 3))
    @test compare(x -> mean(x), fill(Float16(40000), 100))
    @test sum(TCUArray(fill(BFloat16(1), 1000))) == 1000
    r = TCUOps.zeros(Float32, 1)
    @test Array(sum!(r, TCUArray(fill(Float16(40000), 100)))) == [4f6]
end

@testset "the other names" begin
    a, v, b = randn(6, 5), randn(7), rand(Bool, 6, 5)
    for dims in (:, 1, 2, (1, 2), 3)
        for f in (argmax, argmin, findmax, findmin, extrema)
            f === extrema && dims === 3 && continue       # Base 1.5 has a BoundsError
            @test compare(x -> f(x; dims = dims), a)
        end
        for f in (any, all)
            @test compare(x -> f(x; dims = dims), b)
            @test compare(x -> f(y -> y > 0, x; dims = dims), a)
        end
        @test compare(x -> count(x; dims = dims), b)
        @test compare(x -> count(y -> y > 0, x; dims = dims), a)
        @test compare(x -> mean(x; dims = dims), a)
        @test compare(x -> mean(abs2, x; dims = dims), a)
        dims === 3 || @test compare(x -> var(x; dims = dims), a)
        dims === 3 || @test compare(x -> std(x; dims = dims, corrected = false), a)
    end
    for f in (argmax, argmin, findmax, findmin, var, std, mean, extrema)
        @test compare(f, v)
    end
    @test compare(x -> findmax(x; dims = 1), v)
    @test compare(x -> mean(x; dims = 1), rand(1:9, 5, 3))
    @test compare(x -> var(x; mean = mean(x)), v)
    @test compare(x -> var(x), randn(ComplexF64, 9))
    @test compare(x -> argmax(x), [1.0, NaN, 3.0, NaN])
    @test compare(x -> (maximum(x), minimum(x)), [1.0, NaN, 3.0])
    @test isequal(maximum(TCUArray([-0.0, 0.0])), 0.0)
    for p in (2, 1, Inf, -Inf, 0, 3)
        @test compare(x -> norm(x, p), a)
    end
    @test compare(norm, Float32[1f30, 1f30])
    @test compare(norm, [1e200, 1e200])
    @test compare(norm, [1e-200, 1e-200])
    @test compare(norm, randn(ComplexF64, 7))
    @test compare(norm, Float64[])
    @test compare(dot, randn(ComplexF64, 7), randn(ComplexF64, 7))
    @test compare(dot, randn(7), randn(7))
    @test TCUArray(a) == TCUArray(a) && TCUArray(a) != TCUArray(a .+ 1) && TCUArray(a) != TCUArray(v)
    @test TCUArray(a) ≈ TCUArray(a .+ 1e-12) && !(TCUArray(a) ≈ TCUArray(a .+ 1))
end

# What calls of the library f makes.
function calls_of(f)
    total() = sum(last, TCUOps.kernel_calls(TCUOps.default_context()))
    before = total()
    f()
    return total() - before
end

@testset "means, variances, logarithms of sums" begin
    for T in [Bool; INTEGERS; Float16; Float32; Float64], dims in (:, 1, 2, (1, 2))
        a = sample(T, 6, 5)
        for f in (mean, var, std)
            @test compare(x -> f(x; dims = dims), a; slack = T === Float16 ? 4 : 1)
        end
        @test compare(x -> var(x; dims = dims, corrected = false), a; slack = T === Float16 ? 4 : 1)
        lse(x) = dims === (:) ? log(sum(exp.(float.(x)))) : log.(sum(exp.(float.(x)); dims = dims))
        got = logsumexp(TCUArray(a); dims = dims)
        @test eltype(got) === float(T)
        @test isapprox(to_host(got), lse(a); rtol = 8 * eps(float(T)), atol = 8 * eps(float(T)))
    end
    for T in COMPLEX, dims in (:, 1, (1, 2))
        @test compare(x -> mean(x; dims = dims), sample(T, 6, 5))
        @test compare(x -> var(x; dims = dims), sample(T, 6, 5))
        @test compare(x -> std(x; dims = dims), sample(T, 6, 5))
    end
    for view_of in VIEWS, dims in (:, 1, 2), f in (mean, var, std)
        @test compare(x -> f(view_of(x); dims = dims), randn(9, 8, 5); slack = 4)
    end
    # a mean far above the deviation: Base's own sum in Float32 is no measure
    a = Float32.(1f6 .+ randn(100, 300))
    @test Array(var(TCUArray(a); dims = 2)) ≈ var(Float64.(a); dims = 2) rtol = 1e-5
    @test std(TCUArray(a)) ≈ std(Float64.(a)) rtol = 1e-5
    @test var(TCUArray(fill(0.1f0, 1000))) == 0
    for n in (0, 1)
        @test isnan(var(TCUArray(ones(n)))) && isnan(std(TCUArray(ones(n))))
    end
    @test isnan(mean(TCUArray(Float64[]))) && var(TCUArray(ones(1)); corrected = false) == 0
    @test compare(x -> var(x; dims = 1, mean = mean(x; dims = 1)), randn(6, 5))
    @test compare((r, x) -> mean!(r, x), randn(6), rand(1:9, 6, 5))
    x = TCUArray(randn(6, 5))
    for f in (mean, var, std, logsumexp, norm)
        @test calls_of(() -> f(x)) == 1
    end
    for f in (extrema, findmax, findmin, TCUOps.mean_and_var, TCUOps.mean_and_std, TCUOps.sumexp)
        @test calls_of(() -> f(x)) == 1
        @test calls_of(() -> f(x; dims = 1)) == 1
    end
    h = Array(x)
    for dims in (:, 1, 2, (1, 2))
        m, v = TCUOps.mean_and_var(x; dims = dims)
        @test to_host(m) ≈ mean(h; dims = dims) && to_host(v) ≈ var(h; dims = dims)
        m, v = TCUOps.mean_and_std(x; dims = dims, corrected = false)
        @test to_host(m) ≈ mean(h; dims = dims) && to_host(v) ≈ std(h; dims = dims, corrected = false)
        s, top = TCUOps.sumexp(x; dims = dims)
        @test to_host(top) == maximum(h; dims = dims) && to_host(s) ≈ sum(exp.(h .- maximum(h; dims = dims)); dims = dims)
    end
    @test TCUOps.sumexp(TCUArray(Float16[1, 3])) == (Float16(1 + exp(-2)), Float16(3))
    @test isnan(first(TCUOps.sumexp(TCUArray([Inf, 1.0])))) && isnan(first(TCUOps.sumexp(TCUArray([-Inf, -Inf]))))
    @test thrown(() -> TCUOps.sumexp(TCUArray(Float64[]))) === ArgumentError
    @test logsumexp(TCUArray([1000.0, 1000.0])) ≈ 1000 + log(2)
    @test logsumexp(TCUArray([-Inf, -Inf])) == -Inf && logsumexp(TCUArray([Inf, 1.0])) == Inf
    @test isnan(logsumexp(TCUArray([NaN, Inf])))
    @test logsumexp(TCUArray(Float32[])) === -Inf32
    @test logsumexp(TCUOps.lazy.(x .* 2)) ≈ log(sum(exp, 2 .* Array(x)))
    @test thrown(() -> logsumexp(TCUArray(ComplexF64[1, 2]))) === ArgumentError
end

@testset "fused, init, mapreduce" begin
    a, b = randn(6, 5), randn(6, 5)
    for dims in (:, 1, (1, 2))
        @test compare(x -> sum(y -> y^2 + 1, x; dims = dims), a)
        @test compare((x, y) -> mapreduce((u, v) -> u * v, +, x, y; dims = dims), a, b)
        @test compare(x -> mapreduce(abs, max, x; dims = dims), a)
        @test compare(x -> mapreduce(abs2, +, x; dims = dims, init = 10.0), a)
        @test compare(x -> reduce(*, x; dims = dims, init = 2.0), a)
        @test compare(x -> reduce(max, x; dims = dims, init = 0.5), a)
    end
    @test compare(x -> reduce(max, x; init = 1.0), Float64[])
    x, m = TCUArray(a), TCUArray(sum(a; dims = 1) ./ 6)
    @test Array(sum(TCUOps.lazy.(abs2.(x .- m)); dims = 1)) ≈ sum(abs2.(a .- sum(a; dims = 1) ./ 6); dims = 1)
    @test sum(abs2, TCUOps.lazy.(x .- m)) ≈ sum(abs2.(a .- sum(a; dims = 1) ./ 6))
    @test Array(maximum(TCUOps.lazy.(x .* 2); dims = 2)) ≈ maximum(a .* 2; dims = 2)
    k = 3
    @test compare(x -> sum(y -> y * k, x), a)
    if DEVICE === :cpu
        @test compare(x -> mapreduce(identity, -, x), a; outside = true)
        @test compare(x -> sum(y -> y > 0 ? y : 0.0, x; dims = 1), a; outside = true)
    end
end

@testset "in place" begin
    a = randn(6, 5, 4)
    for (f!, f) in ((sum!, sum), (prod!, prod), (maximum!, maximum), (minimum!, minimum)), shape in ((1, 5, 4), (6, 1, 1), (1, 1, 1), (6,), (6, 5))
        r = randn(shape...)
        @test compare((r, x) -> f!(r, x), r, a)
        @test compare((r, x) -> f!(r, x; init = false), r, a)
        # Base 1.5 starts maximum! and minimum! from elements that f is not applied to.
        d = Tuple(k for k in 1:3 if size(r, k) == 1)
        @test reshape(Array(f!(abs2, TCUArray(r), TCUArray(a))), size(f(a; dims = d))) ≈ f(abs2, a; dims = d)
    end
    @test compare((r, x) -> any!(r, x), rand(Bool, 1, 5), rand(Bool, 6, 5))
    @test compare((r, x) -> all!(r, x), rand(Bool, 6), rand(Bool, 6, 5))
    @test compare((r, x) -> mean!(r, x), randn(1, 5), randn(6, 5))
    @test compare((r, x) -> count!(r, x), zeros(Int, 1, 5), rand(Bool, 6, 5))
    @test compare((r, x) -> count!(y -> y > 0, r, x; init = false), ones(Int, 6, 1), randn(6, 5))
    for f! in (sum!, prod!), init in (true, false)  # not in integers, which wrap
        @test Array(f!(on_device([1.0]), on_device(fill(2^62, 4)); init = init))[1] ≈ (f! === sum! ? 2.0^64 : 2.0^248)
    end
    @test Array(TCUOps.sum!(on_device([1.0]), on_device(fill(2^62, 4)))) == [2.0^64]
    @test compare((r, x) -> (sum!(view(r, 1:2:11), x); r), randn(12), randn(6, 5))
    dy, xhat, g = randn(Float32, 3, 8), randn(Float32, 3, 8), randn(Float32, 3, 1)
    expected = 2 .* sum(dy .* xhat; dims = 2) .+ 0.5f0 .* g
    @test Array(TCUOps.sum!(*, TCUArray(g), TCUArray(dy), TCUArray(xhat); alpha = 2, beta = 0.5)) ≈ expected
    @test Array(TCUOps.sum!(TCUArray(g), TCUArray(dy); beta = 1)) ≈ g .+ sum(dy; dims = 2)
    @test Array(TCUOps.sum!(TCUArray(g), TCUArray(dy); alpha = 0.5, beta = true)) ≈ g .+ sum(dy; dims = 2) ./ 2
    @test Array(TCUOps.sum!(TCUArray(g), TCUArray(dy); alpha = false, beta = 2)) ≈ 2 .* g
    @test Array(TCUOps.sum!(TCUArray(g), TCUArray(dy); alpha = 1.0, beta = 0)) ≈ sum(dy; dims = 2)
    @test Array(TCUOps.sum!(TCUArray(vec(g)), TCUArray(dy))) ≈ vec(sum(dy; dims = 2))
end

# Beyond its output a reduction allocates nothing on the host, however often it is called.
@testset "allocations" begin
    for T in (Float32, Int8)
        x, y = TCUArray(sample(T, 10, 100)), TCUArray(sample(T, 10, 1, 3))
        r = TCUOps.zeros(T === Int8 ? Int : T, 1, 100)
        @test bytes((r, x) -> (sum!(r, x); nothing), r, x) == 0
        @test bytes((r, x) -> (TCUOps.sum!(r, x; beta = 1); nothing), r, x) == 0
        output = bytes(x -> (similar(x, (1, 100)); nothing), x)
        @test bytes(x -> (maximum(x; dims = 1); nothing), x) <= output
        @test bytes(x -> (maximum(abs, x; dims = 1); nothing), x) <= output
        @test bytes((x, s) -> (maximum(v -> v * s, x; dims = 1); nothing), x, T(2)) <= output
        @test bytes(y -> (maximum(y; dims = (1, 2)); nothing), y) <= bytes(y -> (similar(y, (1, 1, 3)); nothing), y)
    end
end

# Elements that the library has no dtype for are folded by Base, and the greatest magnitude of none is 0, as there.
if DEVICE === :cpu
    for f in (x -> sum(v -> v // 2, x), x -> prod(v -> v // 2, x; dims = 1), x -> maximum(v -> v // 3, x), x -> maximum(string, x),
              x -> mapreduce(v -> v // 2, +, x; init = 1 // 1), x -> sum(big, x))
        @test compare(f, [3, 5, 7]; outside = true)
    end
end
for f in (abs, abs2), T in (Float64, Int8, ComplexF32)
    @test compare(x -> maximum(f, x), zeros(T, 0))
    @test compare(x -> maximum(f, x; dims = 1), zeros(T, 0, 3))
    @test thrown(() -> minimum(f, TCUArray(zeros(T, 0)))) == ArgumentError
end

struct Above  # no Function
    limit::Float64
end
(a::Above)(v) = v > a.limit
for f in (any, all, count)
    @test compare(x -> f(Above(0), x), randn(4, 3))
end
