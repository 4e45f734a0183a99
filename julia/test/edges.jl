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
end

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
@test var(from_host([1.0, 3]); mean = 2.0) == 2
for p in (1, Inf, 3)
    @test norm(from_host(Int8[-128]), p) ≈ 128
end

@test Array(isinteger.(from_host([Inf, 1.0, 1.5]))) == [false, true, false]
for (a, b) in (([-3.0, 2.5, -2.5, 7], 0.1), (Int8[-128, -7, 7, 100], Int8(100)), ([-7, 7, -8, 8], 2), ([-7, 7, -8, 8], -2),
               (UInt8[255, 3], 0x02), (Float32[-7.5, 7.5], 2.0f0))
    @test Array(fld.(from_host(a), b)) == fld.(a, b)
    @test Array(cld.(from_host(a), b)) == cld.(a, b)
end
