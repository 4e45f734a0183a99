# Scans: cumsum, cumprod, accumulate, and TCUOps.scan's own flags.

for shape in ((0,), (1,), (7,), (1000,), (10_007,))
    @test compare(cumsum, randn(shape...); slack = 100)
    @test compare(cumprod, exp.(randn(shape...) ./ 10); slack = 100)
end
for dims in 1:4
    a = randn(7, 5, 3)
    @test compare(x -> cumsum(x; dims = dims), a)
    @test compare(x -> cumprod(x; dims = dims), a)
    @test compare(x -> accumulate(max, x; dims = dims), a)
    @test compare(x -> accumulate(min, x; dims = dims), a)
    @test compare(x -> cumsum!(similar(x), x; dims = dims), a)
    @test compare(x -> accumulate!(+, similar(x), x; dims = dims), a)
end
for view_of in VIEWS, dims in 1:2
    @test compare(x -> cumsum(view_of(x); dims = dims), randn(9, 8, 5))
    @test compare(x -> (cumsum!(view_of(x), copy(view_of(x)); dims = dims); x), randn(9, 8, 5))
end
for T in [Bool; INTEGERS; Float32; Float64; COMPLEX]
    @test compare(x -> cumsum(x), sample(T, 9))
    @test compare(x -> cumsum(x; dims = 2), sample(T, 4, 3))
end
@test compare(x -> accumulate(+, x; init = 10), rand(1:9, 7))
@test compare(x -> accumulate(+, x; dims = 1, init = 10.0), rand(4, 3))
@test compare(x -> accumulate(max, x; dims = 2, init = 0.5), rand(4, 3))
@test compare(x -> accumulate(+, x), rand(4, 3))
@test compare(x -> cumsum(x), Float16.(ones(3000)))
DEVICE === :cpu && @test compare(x -> accumulate(-, x), rand(7); outside = true)

let a = randn(6, 4)
    x = TCUArray(a)
    exclusive = [zeros(1, 4); cumsum(a; dims = 1)[1:5, :]]
    @test Array(TCUOps.scan(+, x; dims = 1, exclusive = true)) ≈ exclusive
    @test Array(TCUOps.scan(+, x; dims = 1, exclusive = true, init = 2)) ≈ exclusive .+ 2
    @test Array(TCUOps.scan(+, x; dims = 1, reverse = true)) ≈ reverse(cumsum(reverse(a; dims = 1); dims = 1); dims = 1)
    @test Array(TCUOps.scan(max, x; dims = 2)) == accumulate(max, a; dims = 2)
    @test Array(TCUOps.scan(*, TCUOps.lazy.(x .+ 1); dims = 1)) ≈ cumprod(a .+ 1; dims = 1)
    @test Array(cumsum!(x, x; dims = 1)) ≈ cumsum(a; dims = 1)
end

@testset "segments" begin
    x = Float32.(1:10)
    for T in (Int32, Int64)
        offsets = T[0, 3, 3, 10]
        @test Array(TCUOps.segmented_reduce(+, on_device(x), offsets)) == Float32[6, 0, 49]
        @test Array(TCUOps.segmented_reduce(max, on_device(x), on_device(offsets))) == Float32[3, -Inf, 10]
    end
    m = rand(Float32, 3, 8)
    sums = Array(TCUOps.segmented_reduce(+, on_device(m), [0, 2, 8]; dims = 2))
    @test sums ≈ [sum(m[:, 1:2]; dims = 2) sum(m[:, 3:8]; dims = 2)]
    squares = Array(TCUOps.segmented_reduce(+, TCUOps.lazy.(on_device(m) .* on_device(m)), [0, 1, 3]; dims = 1))
    @test squares ≈ [sum(abs2, m[1:1, :]; dims = 1); sum(abs2, m[2:3, :]; dims = 1)]
    @test_throws ArgumentError TCUOps.segmented_reduce(-, on_device(x), [0, 10])
    @test_throws DimensionMismatch TCUOps.segmented_reduce(+, on_device(x), Int[])
    for offsets in ([0, 11], [0, 4, 3], [-1, 2])
        @test_throws ArgumentError TCUOps.segmented_reduce(+, on_device(x), offsets)
        @test_throws ArgumentError TCUOps.segmented_scan(+, on_device(x), offsets)
    end
    @test_throws ArgumentError TCUOps.segmented_reduce(+, on_device(m), [0, 3])
end

@testset "segments of scans" begin
    # what each segment's own scan gives; cuts: the first elements of segments
    function by_segments(f, a, cuts)
        edges = sort(unique([1; cuts; length(a) + 1]))
        return reduce(vcat, [f(a[edges[i]:edges[i+1]-1]) for i in 1:length(edges)-1])
    end
    reversed(f) = x -> reverse(f(reverse(x)))
    for n in (1, 7, 1000, 40_007)
        a = rand(-4:4, n)
        cuts = sort(unique(rand(1:n, max(1, n ÷ 30))))
        flags, ends = falses(n), falses(n)
        flags[cuts] .= true
        ends[filter(>(0), cuts .- 1)] .= true
        offsets = [cuts .- 1; n]
        x = on_device(a)
        for op in (+, max)
            @test Array(TCUOps.scan(op, x; segments = on_device(collect(flags)))) == by_segments(v -> accumulate(op, v), a, cuts)
            @test Array(TCUOps.segmented_scan(op, x, offsets)) == by_segments(v -> accumulate(op, v), a, cuts)
            @test Array(TCUOps.segmented_scan(op, x, Int32.(offsets); reverse = true)) ==
                  by_segments(reversed(v -> accumulate(op, v)), a, cuts)
            @test Array(TCUOps.scan(op, x; reverse = true, segments = on_device(Int8.(ends)))) ==
                  by_segments(reversed(v -> accumulate(op, v)), a, cuts)
        end
        @test Array(TCUOps.segmented_scan(+, x, offsets; exclusive = true, init = 5)) == by_segments(v -> 5 .+ [0; cumsum(v)[1:end-1]], a, cuts)
    end
    m, rows = rand(Float32, 3, 8), [true false false true false true true false]
    expected = hcat(cumsum(m[:, 1:3]; dims = 2), cumsum(m[:, 4:5]; dims = 2), m[:, 6:6], cumsum(m[:, 7:8]; dims = 2))
    @test Array(TCUOps.scan(+, on_device(m); dims = 2, segments = on_device(rows))) ≈ expected
    @test Array(TCUOps.segmented_scan(+, TCUOps.lazy.(on_device(m) .* 2), [0, 3, 5, 6]; dims = 2)) ≈ 2 .* expected
    @test Array(TCUOps.scan(+, TCUOps.lazy.(on_device(m) .* 2); dims = 2, segments = TCUOps.lazy.(on_device(rows) .& true))) ≈ 2 .* expected
    @test_throws ArgumentError TCUOps.segmented_scan(-, on_device([1]), [0, 1])
    @test length(TCUOps.segmented_scan(+, on_device(Float32[]), [0])) == 0
    @test Array(TCUOps.scan(+, on_device([1, 2]); dims = 2, segments = on_device([true, false]))) == [1, 2]
    @test Array(TCUOps.recurrence(2, on_device([1, 2]); dims = 3, init = 1)) == [3, 4]
end

@testset "recurrences" begin
    function serial(a, x, start = zero(eltype(x)))
        y = similar(x, promote_type(eltype(a), eltype(x)))
        for i in eachindex(x)
            start = y[i] = a[i] * start + x[i]
        end
        return y
    end
    for T in (Float32, Float64, Int), n in (1, 5, 1000, 30_001)
        a, x = T.(rand(-1:1, n)), T.(rand(-4:4, n))
        @test Array(TCUOps.recurrence(on_device(a), on_device(x))) == serial(a, x)
        @test Array(TCUOps.recurrence(on_device(a), on_device(x); init = 3)) == serial(a, x, T(3))
        @test Array(TCUOps.recurrence(on_device(a), on_device(x); reverse = true)) == reverse(serial(reverse(a), reverse(x)))
        @test Array(TCUOps.recurrence(on_device(a), on_device(x); exclusive = true)) == [zero(T); serial(a, x)[1:end-1]]
    end
    a, x = rand(4), rand(4, 50)
    @test Array(TCUOps.recurrence(on_device(a), on_device(x); dims = 2)) ≈ reduce(vcat, [serial(fill(a[i], 50), x[i, :])' for i in 1:4])
    @test Array(TCUOps.recurrence(0.5f0, on_device(Float32.(x)); dims = 1)) ≈ reduce(hcat, [serial(fill(0.5f0, 4), Float32.(x[:, j])) for j in 1:50])
    z, w = randn(ComplexF64, 100) ./ 2, randn(ComplexF64, 100)
    @test Array(TCUOps.recurrence(on_device(z), on_device(w))) ≈ serial(z, w)
    @test Array(TCUOps.recurrence(TCUOps.lazy.(exp.(.-on_device(a))), on_device(a))) ≈ serial(exp.(-a), a)
end

let b = rand(Bool, 5, 9)
    @test compare(x -> accumulate(&, x; dims = 2), b)
    @test compare(x -> accumulate(|, x; dims = 1), b)
    @test compare(x -> accumulate(|, vec(x)), b)
end
