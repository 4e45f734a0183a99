# Broadcasts: shapes, views, types, functions, in-place forms.

struct Scaled{T}
    by::T
end
(s::Scaled)(x) = s.by * x
struct Baked
    by::Float64
end
(s::Baked)(x) = s.by * x
affine(a, b) = x -> a * x + b
redefined(x) = x + 1

@testset "shapes and views" begin
    for shape in SHAPES
        a, b = sample(Float32, shape...), sample(Float32, shape...)
        @test compare((x, y) -> x .+ y, a, b)
        @test compare(x -> x .* 2 .+ 1, a)
    end
    for view_of in VIEWS
        a, b = sample(Float64, 7, 6, 5), sample(Float64, 7, 6, 5)
        @test compare((x, y) -> view_of(x) .* view_of(y) .- 1, a, b)
        @test compare((x, y) -> (view_of(x) .= view_of(y) .+ 1; x), a, b)
        @test compare(x -> (view_of(x) .*= 3; x), a)
        @test compare(x -> exp.(view_of(x)) .+ view_of(x), a)
    end
    for (s, t) in (((5, 1), (1, 7)), ((5,), (5, 3)), ((1, 1, 4, 1), (3, 3, 4, 2)), ((3, 1, 4), (1, 5)), ((), (4, 2)), ((0,), (1,)), ((2, 3), (2, 3, 0)))
        @test compare((x, y) -> x .- y, sample(Float32, s...), sample(Float32, t...))
        @test compare((x, y) -> y ./ (x .* x .+ 1), sample(Float64, s...), sample(Float64, t...))
    end
    @test compare(x -> x .* x' .+ x, rand(5))
    @test compare(x -> x .+ transpose(x), rand(4, 4))
    @test compare(x -> x' .+ 1, rand(ComplexF64, 3, 4))
    @test compare(x -> x .+ (1, 2, 3), rand(3))
    @test compare(x -> x .+ (1:3), rand(3, 2))
    @test compare(x -> x .+ Ref(2), rand(3))
    @test compare(x -> x .* π, rand(Float32, 3))
    @test compare(x -> (1 // 3) .* x, rand(Float32, 3))
    DEVICE === :cpu && @test compare(x -> x .+ [10.0, 20, 30], rand(3))
    if DEVICE === :cpu
        for a in (Diagonal([1.0, 2]), UpperTriangular([1.0 2; 3 4]))
            @test compare(x -> x .* a .+ a, rand(2, 2))
        end
        for a in (Any[1, 2.0], Union{Missing,Int}[1, 2])
            @test compare(x -> x .+ a, rand(2, 2); outside = true)
        end
        @test compare(x -> x .== ["a", "b"], rand(2); outside = true)
    end
    @test compare(x -> (x .= 5; x), rand(3, 2))
    DEVICE === :cpu && @test compare(x -> (x .= [1, 2, 3]; x), rand(3, 2))
    @test compare(x -> map(y -> y + 1, x), fill(2.0))
    @test compare(x -> x + x, fill(2.0))
    @test compare(x -> (x .= view(x, 3:-1:1, :) .+ 1; x), rand(3, 2))
    @test compare(x -> (view(x, 2:4) .= view(x, 1:3) .* 2; x), rand(4))
    @test compare(x -> (view(x, 2:9) .= view(x, 1:8) .+ view(x, 2:9); x), rand(9))
    @test compare(x -> (x .= x .* transpose(x); x), rand(3, 3))  # in place beside what overlaps
    @test compare(x -> (x .= x .+ x[1:1]; x), rand(4))
    @test compare(x -> (y = zeros(3); y .= x .+ 1; y), rand(3))
end

@testset "types" begin
    for T in [Bool; INTEGERS; FLOATS; COMPLEX], S in (T, Int8, UInt32, Float16, Float32)
        a, b = sample(T, 9), sample(S, 9)
        @test compare((x, y) -> x .+ y, a, b)
        S in (T, UInt32) && @test compare((x, y) -> x .* y, a, b)
        S in (T, Float16) && @test compare((x, y) -> x .== y, a, b)
    end
    for T in [INTEGERS; Float16; Float32; Float64]
        @test compare(x -> T.(x), sample(Int8, 5) .|> abs)
        @test compare(x -> x .+ 1, sample(T, 5))
        @test compare(x -> x .+ one(T), sample(T, 5))
        @test compare(x -> x .* 2.5f0, sample(T, 5))
    end
    @test compare(x -> round.(Int, x), randn(5) .* 10)
    @test compare(x -> convert.(Float32, x), randn(5))
    @test compare(x -> .!x, rand(Bool, 5))
    @test compare((x, y) -> x .& y .| xor.(x, y), sample(Int32, 9), sample(Int32, 9))
end

@testset "functions" begin
    a = randn(Float32, 33)
    for f in (x -> x^2 + 1, x -> x^-1, x -> x^3 - x^0, x -> ifelse(x > 0, x, 0.1f0 * x), x -> clamp(x, -1, 1), x -> muladd(x, x, 1f0),
              x -> max(x, 0) + min(x, 1f0, 0.5f0), x -> exp(-abs2(x)), x -> sin(x) * cos(2x), x -> log1p(exp(x)), x -> sign(x) * sqrt(abs(x)),
              x -> oftype(x, 1) / (one(x) + exp(-x)), x -> Float64(x) + 1, x -> isnan(x) | (x < 0), x -> x % 2, x -> mod(x, 3),
              x -> 1, tanh, -, inv, affine(2f0, 3f0), affine(2, 3.0), Scaled(3f0), Baked(3.0), Base.Fix2(^, 2), Base.Fix1(*, 3f0),
              sin ∘ cos, TCUOps.gelu, TCUOps.sigmoid, x -> TCUOps.relu(x) + 1, x -> x / π, x -> @evalpoly(x, 1f0, 2f0, 3f0))
        @test compare(x -> f.(x), a)
        @test compare(x -> map(f, x), a)
    end
    x = TCUArray(a)
    @test Array((x -> redefined(x)).(x)) == a .+ 1
    @eval redefined(x) = x + 2
    @test Array(Base.invokelatest(() -> redefined.(x))) == a .+ 2
    for k in 1:3                       # captured scalars travel by value
        @test compare(x -> (y -> y * k + k).(x), a)
        @test compare(x -> affine(k, Float32(k)).(x), a)
        @test compare(x -> Baked(k).(x), a)
    end
    b = Ref(2.0)
    scale = y -> y * b[]
    @test compare(x -> scale.(x), a)
    b[] = 3.0
    @test compare(x -> scale.(x), a)
    @test compare((x, y, z) -> x .* y .+ z .- x ./ (y .* y .+ 1) .* z, rand(7, 3), rand(7), rand(1, 3))
    @test compare((xs...) -> broadcast(+, xs...), (rand(5) for _ in 1:16)...)
    @test compare((x, y) -> map(+, x, y), rand(4, 3), rand(4, 3))
    @test compare((x, y) -> map!(*, similar(x), x, y), rand(4, 3), rand(4, 3))
    if DEVICE === :cpu
        @test compare(x -> (y -> y > 0 ? y : -y).(x), a; outside = true)
        @test compare(x -> nextfloat.(x), a; outside = true)
        @test compare(x -> map(y -> (y, 1), x), rand(3); outside = true)
    else
        @test_throws ArgumentError (y -> y > 0 ? y : -y).(x)
    end
    lazy = TCUOps.lazy
    @test lazy.(x .+ 1) isa Base.Broadcast.Broadcasted
end

# A dotted expression that has run before allocates nothing on the host beyond its output.
@testset "allocations" begin
    for T in (Float32, Int32)
        x, y, b = TCUArray(sample(T, 10, 100)), TCUArray(sample(T, 10, 100)), TCUArray(sample(T, 10))
        o, output = similar(x), bytes(x -> (similar(x); nothing), x)
        @test bytes((o, x, b) -> (o .= x .+ b; nothing), o, x, b) == 0
        @test bytes((o, x, b, s) -> (o .= x .* s .- abs.(b); nothing), o, x, b, T(3)) == 0
        @test bytes((o, x) -> (o .+= x; nothing), o, x) == 0
        @test bytes((o, x, s) -> (o .= (v -> v * s).(x); nothing), o, x, T(2)) == 0
        @test bytes((o, x, y) -> (map!(+, o, x, y); nothing), o, x, y) == 0
        @test bytes((x, b) -> (x .+ b; nothing), x, b) <= output
        @test bytes((x, y) -> (map(max, x, y); nothing), x, y) <= output
    end
end

# Kernels that are chosen by measuring give what those chosen by rule give, write an output once, and are counted once.
let x = rand(Float32, 40, 7), b = rand(Float32, 1, 7), y = TCUArray(zeros(Float32, 40, 7))
    TCUOps.measure!()
    try
        @test Array(tanh.(TCUArray(x) .* 2f0 .+ TCUArray(b))) ≈ tanh.(x .* 2f0 .+ b)
        @test Array(cumsum(TCUArray(x); dims = 2)) ≈ cumsum(x; dims = 2)
        y .+= TCUArray(x)
        @test Array(y) == x
        calls = sum(last, TCUOps.kernel_calls())
        @test Array(sum(TCUArray(x); dims = 1)) ≈ sum(x; dims = 1)
        @test sum(last, TCUOps.kernel_calls()) == calls + 1
    finally
        TCUOps.measure!(false)
    end
    @test TCUOps.KERNEL[] == C_NULL
end
