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
    @test_throws ArgumentError TCUOps.segmented_reduce(+, on_device(m), [0, 3])
end
