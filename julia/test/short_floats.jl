# Floats of 8 and 16 bits that Julia has not: scalars against their definition in Float64, arrays against scalars.

# The value of a number's fields, and all finite numbers of a type that are not negative, in their order.
fields(::Type{BFloat16}) = (fraction = 7, bias = 127, exponents = 8)
fields(::Type{Float8E4M3}) = (fraction = 3, bias = 7, exponents = 4)
fields(::Type{Float8E5M2}) = (fraction = 2, bias = 15, exponents = 5)
function value(::Type{T}, number) where {T}
    f = fields(T)
    e, m = number >> f.fraction, number & (2^f.fraction - 1)
    if e == 2^f.exponents - 1
        T === Float8E4M3 || return m == 0 ? Inf : NaN
        m == 7 && return NaN
    end
    return e == 0 ? ldexp(Float64(m), 1 - f.bias - f.fraction) : ldexp(Float64(m + 2^f.fraction), e - f.bias - f.fraction)
end
of_number(::Type{T}, number) where {T} = reinterpret(T, (sizeof(T) == 1 ? UInt8 : UInt16)(number))
# By search: the nearer of two neighbours, of two that are as near the even one.
function nearest(::Type{T}, x::Float64) where {T}
    isnan(x) && return NaN
    a = abs(x)
    last = Int(reinterpret(sizeof(T) == 1 ? UInt8 : UInt16, floatmax(T)))
    low, high = 0, last + 1
    at(i) = i == last + 1 ? 2 * value(T, last) - value(T, last - 1) : value(T, i)
    a >= at(high) && return copysign(value(T, high), x)
    while high - low > 1
        middle = (low + high) ÷ 2
        at(middle) <= a ? (low = middle) : (high = middle)
    end
    down, up = a - at(low), at(high) - a
    return copysign(value(T, down < up || (down == up && iseven(low)) ? low : high), x)
end
agrees(x, y) = isequal(Float64(x), Float64(y)) || (isnan(x) && isnan(y))

@testset "scalars of $T" for T in (BFloat16, Float8E4M3, Float8E5M2)
    half = 2^(8 * sizeof(T) - 1)
    numbers = sizeof(T) == 1 ? (0:half-1) : (0:97:half-1)
    for number in numbers
        x, want = of_number(T, number), value(T, number)
        @test agrees(x, want) && agrees(of_number(T, number + half), -want)
        @test isnan(want) || (T(want) === x && T(Float32(want)) === x && T(-want) === -x)
        @test isnan(x) == isnan(want) && isinf(x) == isinf(want) && signbit(-x)
        isfinite(want) || continue
        after = value(T, number + 1)
        isfinite(after) || continue
        middle = (want + after) / 2
        for y in (middle, nextfloat(middle), prevfloat(middle), Float64(nextfloat(Float32(middle))), Float64(prevfloat(Float32(middle))))
            @test agrees(T(y), nearest(T, y)) && agrees(T(-y), nearest(T, -y))
            @test agrees(T(Float32(y)), nearest(T, Float64(Float32(y))))
        end
    end
    @test T(3) + T(0.5) === T(3.5) && T(2)^3 === T(8) && T(1) / T(2) === T(0.5) && -T(2) < T(1)
    @test Int(T(6)) === 6 && Bool(T(1)) && Float16(T(1.5)) === Float16(1.5) && big(T(1.5)) == 1.5
    @test round(Int, T(2.5)) === 2 && trunc(Int, T(-2.5)) === -2 && floor(T(2.5)) === T(2)
    @test T(1) + eps(T) > T(1) && T(1) + eps(T) / T(2) == T(1) && precision(T) == 1 - exponent(Float32(eps(T)))
    @test value(T, Int(reinterpret(sizeof(T) == 1 ? UInt8 : UInt16, floatmin(T)))) == 2.0^(1 - fields(T).bias)
    @test maximum([T(1), T(3), T(-4)]) === T(3) && sort([T(2), T(-1)]) == [T(-1), T(2)] && isnan(T(NaN))
    @test sprint(show, T(1.5)) == string(nameof(T), "(1.5)") && string(T(1.5)) == "1.5"
    @test promote_type(T, Float32) === Float32 && promote_type(T, Float64) === Float64 && promote_type(T, Int64) === T
    @test T(1) + 1 === T(2) && T(1) + true === T(2) && T(2) * 0.5f0 === 1f0
end

number_of(x) = reinterpret(UInt8, x)
@testset "what is too large for 8 bits" begin
    @test number_of(Float8E4M3(448)) == 0x7e && number_of(Float8E4M3(464)) == 0x7e && number_of(Float8E4M3(nextfloat(464.0))) == 0x7f
    @test isnan(Float8E4M3(Inf)) && isnan(Float8E4M3(-Inf32)) && isnan(Float8E4M3(10)^3) && !isinf(typemax(Float8E4M3))
    @test number_of(Float8E5M2(prevfloat(61440.0))) == 0x7b && Float8E5M2(61440) === typemax(Float8E5M2)
    @test Float32(Float8E5M2(-1e9)) === -Inf32
    @test promote_type(Float8E4M3, Float8E5M2) === Float32 && promote_type(Float8E4M3, Float16) === Float16
    @test promote_type(Float8E5M2, BFloat16) === BFloat16 && Float8E4M3(Float8E5M2(1.5)) === Float8E4M3(1.5)
end

# Every number of both types: what is rounded once must be the scalars' own, bit by bit but for a NaN's.
@testset "arrays of $T" for T in (Float8E4M3, Float8E5M2)
    all_of = [of_number(T, n) for n in 0:255]
    same_numbers(x, y) = size(x) == size(y) && eltype(x) === eltype(y) && all(isequal.(x, y) .| (isnan.(x) .& isnan.(y)))
    x, a, b = TCUArray(all_of), repeat(all_of, 1, 256), repeat(permutedims(all_of), 256, 1)
    @test same_numbers(Array(x), all_of)
    for S in (Float32, Float64, Float16, BFloat16, Float8E4M3, Float8E5M2)
        @test same_numbers(Array(S.(x)), S.(all_of))
        y = S.(randn(1000) .* 300)
        @test same_numbers(Array(T.(TCUArray(y))), T.(y))
    end
    for f in (+, -, *, /, max)
        @test same_numbers(Array(f.(TCUArray(a), TCUArray(b))), f.(a, b))
    end
    @test same_numbers(Array(abs.(x)), abs.(all_of)) && same_numbers(Array(sqrt.(abs.(x))), sqrt.(abs.(all_of)))
    @test eltype(x .+ Float16(1)) === Float16 && eltype(x .+ 1) === T
    @test eltype(x .+ TCUArray(Float8E4M3.(all_of))) === promote_type(T, Float8E4M3)
    @test Array(x .< T(1)) == (all_of .< T(1))
    few = T.(rand(-4:4, 33, 70))
    exact = Float64.(few)
    @test Array(sum!(TCUOps.zeros(Float32, 1, 70), TCUArray(few))) == sum(exact; dims = 1)
    @test Array(sum!(TCUOps.zeros(Float32, 33, 1), TCUArray(few))) == sum(exact; dims = 2)
    @test Array(sum(TCUArray(few); dims = 2)) == T.(sum(exact; dims = 2))  # added up in Float32, rounded once
    @test sum(TCUArray(fill(T(1), 300))) === T(300)
    @test Array(maximum(TCUArray(few); dims = 1)) == maximum(few; dims = 1) && minimum(TCUArray(few)) === minimum(few)
    @test argmax(TCUArray(few)) == argmax(few)
    @test Array(cumsum(TCUArray(few); dims = 2)) == T.(cumsum(exact; dims = 2))
    @test mean(TCUArray(fill(T(3), 1000))) === T(3) && var(TCUArray(fill(T(3), 1000))) == 0
end
