# Exceptions as Base's, with the library's message where it has one.

x, y = TCUOps.rand(3, 4), TCUOps.rand(4, 3)
both(f, arrays...) = thrown(() -> f(arrays...)) === thrown(() -> f(map(TCUArray, arrays)...))

@test both((x, y) -> x .+ y, rand(3), rand(4))
@test both((x, y) -> (x .= y), rand(3), rand(4))
@test both((x, y) -> map!(+, x, y, y), rand(2, 2), rand(3, 3))
@test both((x, y) -> map(+, x, y), rand(2, 2), rand(3, 3))
@test both(x -> copyto!(x, 1, x, 1, -1), rand(3))
@test both(x -> sum(x; dims = 1.0), rand(3))
@test both(x -> sum(x; dims = 0), rand(3))
@test both(x -> sum(x; dims = -1), rand(3))
@test both((r, x) -> sum!(r, x), rand(2), rand(3, 4))
@test both(x -> cumsum(x; dims = 0), rand(3, 3))
@test both(x -> x[5], rand(3)) || thrown(() -> TCUOps.allowscalar(() -> TCUArray(rand(3))[5])) === BoundsError
@test both(x -> reshape(x, 5), rand(3))
@test both(x -> permutedims(x, (1, 1)), rand(3, 3))
@test both(x -> copyto!(x, rand(4)), rand(3))
@test both(x -> any(x), rand(3))
@test thrown(() -> maximum(TCUArray(Float64[]))) === ArgumentError
@test thrown(() -> argmax(TCUArray(Float64[]))) === ArgumentError
@test thrown(() -> maximum(TCUArray(zeros(0, 3)); dims = 1)) === ArgumentError
@test size(maximum(TCUArray(zeros(0, 3)); dims = 2)) == (0, 1)
@test thrown(() -> TCUOps.sum!(TCUOps.zeros(2), TCUOps.rand(3, 4))) === DimensionMismatch
@test thrown(() -> TCUOps.context(:nonsense)) === TCUOps.TCUError
@test thrown(() -> TCUOps.context(:cpu, 7)) === TCUOps.TCUError
@test thrown(() -> TCUArray(["a"])) === ArgumentError
@test thrown(() -> TCUArray{Float32}(undef, -1)) === ArgumentError
@test !isempty(message(() -> TCUOps.context(:nonsense)))
@test TCUOps.recording_error(v -> v + 1, x) == ""
@test occursin("ifelse", TCUOps.recording_error(v -> v > 0 ? v : 0f0, x))
if DEVICE !== :cpu
    @test occursin("TCUArray", message(() -> x .+ rand(3, 4)))
    @test thrown(() -> accumulate(-, vec(x))) === ArgumentError
end
@test TCUOps.kernel_calls() isa Vector{Pair{String,Int}}
@test sum(last, TCUOps.kernel_calls()) > 0

# Threads: broadcasts and reductions from many tasks give what one gives.
let parts = [randn(Float32, 100) for _ in 1:32], totals = zeros(Float32, 32)
    Threads.@threads for i in 1:32
        totals[i] = sum(TCUArray(parts[i]) .* Float32(i))
    end
    @test totals ≈ [sum(parts[i] .* Float32(i)) for i in 1:32]
end

# A precompile directive for a method that is not there says nothing: the first call would just take longer.
@testset "directives of precompile.jl" begin
    directives = filter(startswith("precompile("), readlines(joinpath(dirname(pathof(TCUOps)), "precompile.jl")))
    @test length(directives) > 20
    @test isempty(filter(d -> Core.eval(TCUOps, Meta.parse(d)) !== true, directives))
end
