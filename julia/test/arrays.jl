# Construction, copies, views, reshapes, indexing.

@testset "construction" begin
    @test Array(TCUArray([1 2; 3 4])) == [1 2; 3 4]
    @test size(TCUArray{Float32}(undef, 2, 3)) == (2, 3)
    @test TCUArray{Float32,1}(undef, 0) isa TCUVector{Float32}
    @test eltype(TCUArray{Float32}([1, 2])) == Float32
    @test Array(TCUOps.zeros(Int16, 2, 2)) == zeros(Int16, 2, 2)
    @test Array(TCUOps.ones(3)) == ones(Float32, 3)
    @test Array(TCUOps.fill(2.5, 2)) == [2.5, 2.5]
    @test all(x -> 0 <= x < 1, Array(TCUOps.rand(Float32, 10)))
    @test size(TCUOps.randn(3, 4)) == (3, 4)
    @test Array(TCUArray(1:3)) == [1, 2, 3]
    @test Array(TCUArray([1 2; 3 4]')) == [1 3; 2 4]
    @test TCUArray(5)[] == 5
    for T in [Bool; INTEGERS; FLOATS; COMPLEX]
        a = sample(T, 3, 4)
        @test Array(TCUArray(a)) == a
        @test Array(fill!(TCUArray(a), one(T))) == ones(T, 3, 4)
    end
    x = TCUArray(rand(3, 4))
    @test similar(x) isa TCUMatrix{Float64}
    @test similar(x, Float32, 5) isa TCUVector{Float32}
    @test zero(x) == TCUOps.zeros(Float64, 3, 4)
    @test convert(TCUArray{Float64}, x) === x
    @test deepcopy(x) == x
    @test collect(x) == Array(x)
    @test occursin("TCUArray", repr("text/plain", x)) && occursin("3×4", repr("text/plain", x))
    @test repr(TCUArray([1, 2])) == "[1, 2]"
    a = [1.0, 2.0]
    DEVICE === :cpu && @test (TCUOps.wrap(a) .= 3; a == [3, 3]) && TCUOps.unwrap(TCUOps.wrap(a)) === a
end

@testset "copies" begin
    for view_of in VIEWS, T in (Float32, Int8, ComplexF64), S in (Float64, ComplexF64)
        T <: Complex && S <: Real && continue
        a = sample(T, 7, 5, 3)
        @test compare(x -> Array(view_of(x)), a)
        @test compare(x -> copyto!(similar(view_of(x), S), view_of(x)), a)
        @test compare(x -> (copyto!(view_of(x), collect(1:length(view_of(x)))[axes(vec(Array(view_of(x))))...] |> v -> reshape(v, size(view_of(x)))); x), a)
    end
    @test compare(x -> (copyto!(x, 2, [9, 8], 1, 2); x), zeros(4))
    @test compare(x -> copyto!(zeros(5), 2, x, 1, 2), [1.0, 2, 3])
    @test compare(x -> (copyto!(x, 3, x, 1, 2); x), collect(1.0:6))
    @test compare(x -> (copyto!(view(x, 2:5), view(x, 1:4)); x), collect(1.0:6))
    @test compare(x -> (copyto!(view(x, 1:4), view(x, 4:-1:1)); x), collect(1.0:6))
    @test compare(x -> (fill!(view(x, :, 2), 7); x), ones(3, 4))
    @test compare(x -> copyto!(x, view([1.0 2; 3 4], :, 2)), zeros(2))
end

@testset "views and reshapes" begin
    a = rand(6, 5, 4)
    for f in (x -> x[:, 2, :], x -> x[2:3, :, 4], x -> x[6:-2:1, 1, 1:2], x -> x[:], x -> x[3:20], x -> x[:, :, end],
              x -> x[:, 2:2, :, 1], x -> reshape(x, 6, 20, 1)[:, 7], x -> view(view(x, 2:5, :, :), 1:2:4, 3, :), x -> x[1:0, :, :],
              x -> selectdim(x, 2, 3), x -> reshape(x, 30, 4), x -> reshape(x, :, 2), x -> vec(x),
              x -> reshape(view(x, :, :, 2:3), 30, 2), x -> reshape(view(x, 1:2:6, :, :), 3, 20), x -> dropdims(view(x, :, 1:1, :); dims = 2),
              x -> permutedims(x, (3, 1, 2)), x -> PermutedDimsArray(x, (2, 3, 1)), x -> reverse(x; dims = 2),
              x -> view(x, CartesianIndex(2, 3), :), x -> circshift(x, (1, -2, 0)), x -> x[[3, 1], :, 2],
              x -> repeat(x; inner = (2, 1, 3), outer = (1, 2, 1)), x -> reshape(x, 6, 1, 20), x -> cat(x, x; dims = 3))
        @test compare(f, a; outside = true)
    end
    b = rand(4, 3)
    for f in (x -> x', x -> transpose(x), x -> permutedims(x), x -> copy(x'), x -> hcat(x, x), x -> vcat(x, x), x -> repeat(x, 2, 3),
              x -> view(x', 1:2, :), x -> reshape(x', 3, 2, 2) |> Array, x -> reverse(x; dims = 1))
        f === nothing && continue
        thrown(() -> f(TCUArray(b))) === ArgumentError && continue     # a reshape that cannot share memory
        @test compare(f, b)
    end
    v = rand(5)
    for f in (x -> reverse(x), x -> circshift(x, 2), x -> vcat(x, x), x -> hcat(x, x), x -> x', x -> repeat(x, 3),
              x -> x[[true, false, true, false, true]], x -> reinterpret(UInt64, x), x -> reinterpret(Float32, x))
        @test compare(f, v; outside = true)
    end
    @test compare(x -> (x[2, :] = [7, 8, 9]; x), zeros(4, 3))
    @test compare(x -> (x[2:3, 1:2] = [1 2; 3 4]; x), zeros(4, 3))
    @test compare(x -> (x[:, 2] = x[:, 1]; x), rand(4, 3))
    @test compare(x -> (x[4:-1:1, 1] = x[:, 2]; x), rand(4, 3))
    @test compare(x -> (x[:] = collect(1:12); x), rand(4, 3))
    @test compare(x -> (view(x, 2:3, :) .= 1; x), rand(4, 3))
    x = TCUArray(b)
    @test_throws ErrorException x[1, 2]
    @test_throws ErrorException x[3] = 1
    @test TCUOps.allowscalar(() -> x[2, 3]) == b[2, 3]
    allowed = @async TCUOps.allowscalar(() -> (yield(); x[2, 3]))  # in its own task
    yield()
    @test_throws ErrorException x[1, 2]
    @test fetch(allowed) == b[2, 3]
    @test TCUOps.allowscalar(() -> view(x, 4:-1:1, :)[2, 3]) == b[3, 3]
    @test TCUOps.allowscalar(() -> (x[2, 3] = 9; Array(x)[2, 3])) == 9
    @test_throws BoundsError view(x, 5, 1)
    @test_throws BoundsError view(x, 1:5, 1)
    @test_throws DimensionMismatch reshape(x, 5, 2)
    @test_throws ArgumentError reshape(view(x, 1:3, :), 9)
end

@testset "wrappers and masks" begin
    b, v, c = rand(4, 3), rand(6), rand(2, 3, 4)
    for wrap in (adjoint, transpose, x -> PermutedDimsArray(x, (2, 1))),
        f in (x -> x[1:2, 1], x -> x[1, 2:3], x -> x[:, 2], x -> x[:], x -> x[2:7], x -> x[[1, 3], :], x -> x[[true, false, true], 2])
        @test compare(x -> f(wrap(x)), b; outside = true)
    end
    @test compare(x -> (x'[1:2, 1] = [7.0, 8]; x'[3, :] = [1, 2, 3, 4]; x), b)
    @test compare(x -> x'[1:2, 1], sample(ComplexF64, 3, 2))
    @test compare(x -> PermutedDimsArray(x, (3, 1, 2))[1, 2, 2:3], c)
    @test compare(x -> (x'[1, 2:3], x'[2:3], x'[:, 2:3]), v)
    @test compare(x -> findall(x .> 0.5), b)
    @test compare(x -> findall(>(0.5), x), v)
    @test compare(x -> findall(in((v[2],)), x), v)
    a = zeros(4, 3)
    a .= TCUArray(b) .+ 1
    view(a, :, 2) .= TCUArray(b[:, 1]) .* 2
    mask = falses(4, 3)
    mask .= TCUArray(b) .> 0.5
    @test a == [b[:, 1] .+ 1 b[:, 1] .* 2 b[:, 3] .+ 1] && mask == (b .> 0.5)
    @test copyto!(view(a, :, 1), TCUArray(b[:, 3])) == b[:, 3]
    @test compare(hash, b) && TCUArray(v) in keys(Dict(TCUArray(v) => 1))
end

@testset "in place" begin
    b, v = rand(4, 3), rand(6)
    for f in (x -> clamp!(x, 0.2, 0.4), x -> normalize!(x), normalize, x -> normalize(x, 1), reverse!, x -> reverse!(x, 2), x -> reverse!(x, 2, 4),
              x -> reverse(x, 2, 4), x -> map(+, x, x[1:2]), x -> map!(+, similar(x, 2), x, x), x -> map!(-, fill!(similar(x, 8), 0), x),
              x -> map!(-, similar(x, 2, 3), x))
        @test compare(f, v)
    end
    @test compare(x -> (clamp!(x', 0.2, 0.4); x), b)
    @test Array(reverse!(TCUArray(b); dims = 2)) == b[:, 3:-1:1]
    @test Array(reverse!(TCUArray(b))) == b[4:-1:1, 3:-1:1]
end

@testset "storage" begin
    # Views keep the memory alive, and memory that nothing names is given back.
    views = [view(TCUOps.fill(Float32(i), 1000), 1:10) for i in 1:100]
    GC.gc()
    @test all(i -> Array(views[i]) == fill(Float32(i), 10), 1:100)
    for i in 1:2000
        TCUOps.zeros(Float32, 100_000)
    end
    @test true
end

@test thrown(() -> reverse(TCUArray([1, 2]); dims = 2)) == thrown(() -> reverse!(TCUArray([1, 2]); dims = 2)) == ArgumentError
@test compare(x -> circshift(x, [1, 2]), rand(4, 3)) && compare(x -> circshift(x, ()), rand(4, 3))
@test thrown(() -> circshift(TCUArray([1, 2]), (1, 1))) == ArgumentError
for shifts in (2, (1, -1), (), [1, 1])
    @test compare(x -> circshift!(similar(x), x, shifts), rand(4, 3))
end
@test thrown(() -> circshift!(TCUArray([1, 2]), TCUArray([1]), 1)) == ArgumentError
@test compare(sizeof, rand(4, 3)) && sizeof(view(TCUArray(rand(4, 3)), 1:2:4, :)) == 48
@test compare(x -> copyto!(x, 2, 1:3), collect(1:6)) && compare(x -> copyto!(x, 2, view([7, 8, 9], 2:3), 1, 2), collect(1:6))
@test compare(x -> (y = zeros(2, 3); copyto!(y', x); y' .= x .+ y[1]; y), rand(3, 2))

# x[indices] .= values where there is no view.
@testset "scattered" begin
    for f in (x -> (x[x .> 0] .= 1; x), x -> (x[x .> 0] .*= 2; x), x -> (x[[1, 3], 2] .= [5, 6]; x),
              x -> (x[[3, 1], :] .= sin.(x[1:2, :]); x),
              x -> (x[:, [true, false, true]] .= x[:, 2]; x), x -> (x'[[1, 3], :] .= 0; x), x -> (x[x .> 9] .= 1; x))
        @test compare(f, randn(4, 3); outside = true)
    end
    for f in (x -> x[[1, 9]] .= 1, x -> x[[1, 2]] .= [1, 2, 3])
        @test thrown(() -> f(TCUArray([1, 2, 3]))) == thrown(() -> f([1, 2, 3]))
    end
end
