# Matrix products, by BLAS: plain, transposed, strided, with alpha and beta.

for T in (Float32, Float64, ComplexF32, ComplexF64)
    A, B, C, v = sample(T, 5, 7), sample(T, 7, 3), sample(T, 5, 3), sample(T, 7)
    @test compare(*, A, B)
    @test compare(*, A, v)
    @test compare((a, b) -> transpose(a) * b, sample(T, 7, 5), B)
    @test compare((a, b) -> a' * b, sample(T, 7, 5), B)
    @test compare((a, b) -> a * b', A, sample(T, 3, 7))
    @test compare((a, b) -> transpose(a) * transpose(b), sample(T, 7, 5), sample(T, 3, 7))
    @test compare((c, a, b) -> mul!(c, a, b), C, A, B)
    @test compare((c, a, b) -> mul!(c, a, b, 2, 3), C, A, B)
    @test compare((c, a, b) -> mul!(c, a', b, T(2), T(0.5)), C, sample(T, 7, 5), B)
    @test compare((a, b) -> view(a, 1:2:5, :) * view(b, :, 2:3), A, B)
    @test compare((a, b) -> view(a, 2:4, 2:5) * view(b, 1:4, :), A, B)
    @test compare((c, a, b) -> (mul!(view(c, 2:4, :), view(a, 1:3, :), b); c), C, A, B)
    @test compare(x -> x' * x, v)
    @test compare(x -> transpose(x) * x, v)
    @test compare(x -> x * x', v)
    @test compare((x, a) -> x' * a, v, B)
end
@test compare(*, sample(Float32, 0, 4), sample(Float32, 4, 3))
@test compare(*, sample(Float32, 3, 0), sample(Float32, 0, 4))
let a = rand(4, 4), b = rand(4, 4)  # over a factor, and beside one in the same array
    x = TCUArray(a)
    @test Array(mul!(x, x, TCUArray(b))) ≈ a * b
    x = TCUArray(a)
    @test Array(mul!(x, TCUArray(b), x', 2, 3)) ≈ 2b * a' + 3a
    x = TCUArray(a)
    mul!(view(x, 1:2, :), view(x, 3:4, :), TCUArray(b))
    @test Array(x) ≈ [a[3:4, :] * b; a[3:4, :]]
end
@test compare(x -> rmul!(x, 2), rand(4))
@test compare((x, y) -> axpy!(2, x, y), rand(4), rand(4))
@test thrown(() -> TCUOps.rand(2, 3) * TCUOps.rand(2, 3)) == DimensionMismatch
@test thrown(() -> mul!(TCUOps.rand(2, 2), TCUOps.rand(2, 3), TCUOps.rand(3, 3))) == DimensionMismatch
