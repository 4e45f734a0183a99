# Several results of one read: TCUOps.broadcast_pair, TCUOps.broadcast_several.

@testset "pairs" begin
    tanh_and_slope(x) = (t = tanh(x); (t, one(t) - t * t))
    both_of(f, xs...) = (r = f.(xs...); r isa Tuple && (r = fill(r)); (map(first, r), map(last, r)))
    same(found, expected) = Array(found[1]) ≈ expected[1] && Array(found[2]) ≈ expected[2]
    function check_pair(f, xs...)
        found, expected = TCUOps.broadcast_pair(f, map(x -> x isa Array ? on_device(x) : x, xs)...), both_of(f, xs...)
        return same(found, expected) && eltype(found[1]) == eltype(expected[1]) && eltype(found[2]) == eltype(expected[2])
    end
    for T in (Float16, Float32, Float64), shape in SHAPES
        @test check_pair(tanh_and_slope, sample(T, shape...))
    end
    a, b = rand(Float32, 5, 7), rand(Float32, 5)
    scale = 3.0f0
    @test check_pair((x, y) -> (x * y, x + scale), a, b)
    @test check_pair((x, y) -> (x > y, Int32(2)), a, b)
    @test check_pair(sincos, a)
    @test check_pair((x, y) -> (ifelse(x > y, x, y), x), a, 0.5f0)
    @test check_pair(x -> (conj(x), abs2(x)), rand(ComplexF32, 9))
    x = on_device(a)
    calls = sum(last, TCUOps.kernel_calls())
    y, z = similar(x), similar(x, Float64)
    @test TCUOps.broadcast_pair!(tanh_and_slope, y, z, x) === (y, z)
    @test sum(last, TCUOps.kernel_calls()) == calls + 1
    @test same((y, z), both_of(tanh_and_slope, a))
    TCUOps.broadcast_pair!(v -> (2v, v), x, z, x)  # in place
    @test same((x, z), (2a, a))
    x = on_device(a)
    TCUOps.broadcast_pair!((u, v) -> (u + v, u - v), view(y, 1:2:5, :), view(z, 1:2:5, 7:-1:1), view(x, 1:2:5, :), 1)  # laid out apart
    @test Array(y)[1:2:5, :] ≈ a[1:2:5, :] .+ 1 && Array(z)[1:2:5, 7:-1:1] ≈ a[1:2:5, :] .- 1
    @test same((y, z), (Array(y), Array(z)))
    TCUOps.broadcast_pair!(v -> (v, -v), transpose(y), transpose(z), transpose(x))
    @test same((y, z), (a, -a))
    @test same(TCUOps.broadcast_pair(tanh_and_slope, TCUOps.lazy.(x .* 2)), both_of(tanh_and_slope, 2a))
    @test_throws DimensionMismatch TCUOps.broadcast_pair!(tanh_and_slope, y, on_device(rand(3)), x)
    @test_throws ArgumentError TCUOps.broadcast_pair(v -> (v, v, v), x)
    @test_throws ArgumentError TCUOps.broadcast_pair(sin, x)
    @test_throws Exception TCUOps.broadcast_pair!(tanh_and_slope, y, x, x)  # the second on an input
    branches(v) = v > 0 ? (v, one(v)) : (-v, -one(v))
    for f in (branches, v -> (v, π))  # not recorded; a type that the library has not
        if DEVICE === :cpu
            @test check_pair(f, a .- 0.5f0)
        else
            @test_throws ArgumentError TCUOps.broadcast_pair(f, x)
        end
    end
end

@testset "several" begin
    all_of(f, xs...) = (r = f.(xs...); r isa Tuple && (r = fill(r)); ntuple(i -> map(t -> t[i], r), length(first(r))))
    function check_several(f, xs...)
        found, expected = TCUOps.broadcast_several(f, map(x -> x isa Array ? on_device(x) : x, xs)...), all_of(f, xs...)
        return length(found) == length(expected) && all(map((a, b) -> eltype(a) == eltype(b) && Array(a) ≈ b, found, expected))
    end
    derivatives(x) = (t = tanh(x); s = one(t) - t * t; (t, s, -2 * t * s))
    for T in (Float16, Float32, Float64), shape in SHAPES
        prod(shape) == 0 || @test check_several(derivatives, sample(T, shape...))
    end
    a, b = rand(Float32, 5, 7), rand(Float64, 5)
    @test check_several((x, y) -> (x + y, x * y, x > y, Int32(3)), a, b)
    @test check_several((x, y) -> (x, y), a, b)
    @test check_several((x, s) -> (s * x, x, -x, x * x), a, 2.5f0)
    x = on_device(a)
    calls = sum(last, TCUOps.kernel_calls())
    outs = (similar(x), similar(x, Float64), similar(x, Bool), similar(x, Int32))
    many = v -> (2v, v * v, v > 0.5f0, ifelse(v > 0.25f0, Int32(1), Int32(-1)))
    @test TCUOps.broadcast_several!(many, outs, x) === outs
    @test sum(last, TCUOps.kernel_calls()) == calls + 1
    @test all(map((found, expected) -> Array(found) ≈ expected, outs, all_of(many, a)))
    y, z = similar(x), similar(x)
    TCUOps.broadcast_several!(v -> (v + 1, 2v, 3v), (x, y, z), x)  # the first in place
    @test Array(x) ≈ a .+ 1 && Array(y) ≈ 2a && Array(z) ≈ 3a
    u, v, w = similar(x, 3, 7), fill!(similar(x), 0), similar(x, 3, 7)
    TCUOps.broadcast_several!(e -> (e, -e, 2e), (u, view(v, 1:2:5, :), w), view(x, 1:2:5, :))  # laid out apart
    expected = (a .+ 1)[1:2:5, :]
    @test Array(u) ≈ expected && Array(v)[1:2:5, :] ≈ -expected && Array(w) ≈ 2expected && all(iszero, Array(v)[2:2:4, :])
    w = similar(x)
    for t in (y, z, w)
        fill!(t, 9)
    end
    TCUOps.broadcast_several!(e -> (e, 2e, 3e), map(t -> view(t, 1:2:5, :), (y, z, w)), view(x, 1:2:5, :))  # alike, with gaps
    for (t, k) in ((y, 1), (z, 2), (w, 3))
        @test Array(t)[1:2:5, :] ≈ k * expected && all(==(9), Array(t)[2:2:4, :])
    end
    TCUOps.broadcast_several!(e -> (e, -e, 2e), map(transpose, (y, z, w)), transpose(x))
    @test Array(y) ≈ a .+ 1 && Array(z) ≈ -(a .+ 1) && Array(w) ≈ 2 .* (a .+ 1)
    @test check_several(e -> (e, e, e, e), a)
    @test check_several(e -> (real(e), imag(e), abs2(e)), rand(ComplexF32, 9))
    none = TCUOps.broadcast_several(derivatives, on_device(zeros(Float32, 0, 3)))
    @test map(size, none) == ((0, 3), (0, 3), (0, 3)) && map(eltype, none) == (Float32, Float32, Float32)
    branches(v) = v > 0 ? (v, one(v), zero(v)) : (-v, -one(v), v)
    long(v) = (t = foldl((s, i) -> s * v + i, 1:50; init = v); (t, t + 1, t + 2))  # each can be recorded, all together not
    for f in (branches, long), data in (a .- 0.5f0, fill(0.25f0))
        if DEVICE === :cpu
            @test check_several(f, data)
        else
            @test_throws ArgumentError TCUOps.broadcast_several(f, on_device(data))
        end
    end
    @test_throws ArgumentError TCUOps.broadcast_several(v -> (v,), x)
    @test_throws ArgumentError TCUOps.broadcast_several(sin, x)
    @test_throws ArgumentError TCUOps.broadcast_several!(derivatives, (y, z), x)
    @test_throws DimensionMismatch TCUOps.broadcast_several!(derivatives, (y, z, on_device(rand(3))), x)
    @test_throws ArgumentError TCUOps.broadcast_several(v -> (v, v, v, v, v), x)
    @test_throws Exception TCUOps.broadcast_several!(derivatives, (y, z, z), x)  # one on another
end
