# Floats of 8 and 16 bits that Julia has not. Scalars compute in Float32 and round to nearest even.

"""
    TCUOps.BFloat16 <: AbstractFloat

The 16-bit float with Float32's exponent range and 8 bits of precision. Arithmetic on scalars goes through Float32; on
arrays it is the library's (computed in Float32, rounded once).
"""
primitive type BFloat16 <: AbstractFloat 16 end

"""
    TCUOps.Float8E4M3 <: AbstractFloat

The 8-bit float with 4 bits of exponent and 4 of precision, PyTorch's `float8_e4m3fn`: no infinity, one NaN of either sign, numbers up
to 448. What would round to more, and infinity, become NaN. Arithmetic as `BFloat16`'s.
"""
primitive type Float8E4M3 <: AbstractFloat 8 end

"""
    TCUOps.Float8E5M2 <: AbstractFloat

The 8-bit float with 5 bits of exponent and 3 of precision, PyTorch's `float8_e5m2`: the upper half of a Float16. Arithmetic as
`BFloat16`'s.
"""
primitive type Float8E5M2 <: AbstractFloat 8 end

const Float8 = Union{Float8E4M3,Float8E5M2}
const ShortFloat = Union{BFloat16,Float8}
bits_type(::Type{BFloat16}) = UInt16
bits_type(::Type{<:Float8}) = UInt8
bits(x::T) where {T<:ShortFloat} = reinterpret(bits_type(T), x)

# ---- to Float32, exactly

Base.Float32(x::BFloat16) = reinterpret(Float32, UInt32(bits(x)) << 16)
Base.Float32(x::Float8E5M2) = Float32(reinterpret(Float16, UInt16(bits(x)) << 8))
function Base.Float32(x::Float8E4M3)
    magnitude = bits(x) & 0x7f
    # The same bits mean a number 2^120 times as small in Float32, subnormal ones too.
    y = magnitude == 0x7f ? NaN32 : reinterpret(Float32, UInt32(magnitude) << 20) * ldexp(1f0, 120)
    return bits(x) == magnitude ? y : -y
end

# ---- from Float32, rounded once

function BFloat16(x::Float32)
    isnan(x) && return reinterpret(BFloat16, 0x7fc0)
    u = reinterpret(UInt32, x)
    return reinterpret(BFloat16, ((u + 0x7fff + ((u >> 16) & 0x1)) >> 16) % UInt16)
end

# Bits of fraction, the exponents' bias, what rounds past the largest number and what it becomes.
format_of(::Type{Float8E4M3}) = (fraction = 3, bias = 7, past = nextfloat(464f0), over = 0x7f)
format_of(::Type{Float8E5M2}) = (fraction = 2, bias = 15, past = 61440f0, over = 0x7c)
Float8E4M3(x::Float32) = round_to_8(Float8E4M3, x)
Float8E5M2(x::Float32) = round_to_8(Float8E5M2, x)
function round_to_8(::Type{T}, x::Float32) where {T<:Float8}
    of = format_of(T)
    sign = signbit(x) ? 0x80 : 0x00
    a = abs(x)
    isnan(a) && return reinterpret(T, 0x7f)
    a >= of.past && return reinterpret(T, sign | of.over)
    # The power of two below a, or that of the least normal number; a in units of the last place, a carry runs on into the exponent.
    power = max(a == 0 ? -200 : exponent(a), 1 - of.bias)
    units = round(UInt32, ldexp(Float64(a), of.fraction - power), RoundNearest)
    place = UInt32(power + of.bias - 1) << of.fraction
    return reinterpret(T, sign | (place + units) % UInt8)
end

# ---- other types

# Through Float32, rounding to odd, so that rounding twice gives what rounding once would.
function rounded_to_odd(x::Float64)
    y = Float32(x)
    isfinite(y) && Float64(y) != x || return y
    u = reinterpret(UInt32, y)
    u -= abs(Float64(y)) > abs(x)
    return reinterpret(Float32, u | 0x1)
end
for T in (:BFloat16, :Float8E4M3, :Float8E5M2)
    @eval $T(x::$T) = x
    @eval $T(x::Float64) = $T(rounded_to_odd(x))
    for S in (Float16, Integer, Rational, Irrational)
        @eval $T(x::$S) = $T(Float64(x))
    end
    @eval $T(x::Bool) = $T(Float32(x))
    for S in (:BFloat16, :Float8E4M3, :Float8E5M2)
        T === S || @eval $T(x::$S) = $T(Float32(x))
    end
    @eval Base.promote_rule(::Type{$T}, ::Type{Float32}) = Float32
    @eval Base.promote_rule(::Type{$T}, ::Type{Float64}) = Float64
    for S in (:(<:Integer), :Bool, :(<:Irrational), :(<:Rational))
        @eval Base.promote_rule(::Type{$T}, ::Type{$S}) = $T
    end
    @eval Base.show(io::IO, x::$T) = print(io, $(string(T)), "(", Float32(x), ")")
end
Base.Float64(x::ShortFloat) = Float64(Float32(x))
Base.Float16(x::ShortFloat) = Float16(Float32(x))
Base.BigFloat(x::ShortFloat) = BigFloat(Float32(x))
(::Type{T})(x::ShortFloat) where {T<:Integer} = T(Float32(x))
Base.Bool(x::ShortFloat) = Bool(Float32(x))
Base.trunc(::Type{T}, x::ShortFloat) where {T<:Integer} = trunc(T, Float32(x))
Base.round(::Type{T}, x::ShortFloat) where {T<:Integer} = round(T, Float32(x))
Base.print(io::IO, x::ShortFloat) = print(io, Float32(x))

Base.promote_rule(::Type{BFloat16}, ::Type{Float16}) = Float32
Base.promote_rule(::Type{<:Float8}, ::Type{Float16}) = Float16
Base.promote_rule(::Type{<:Float8}, ::Type{BFloat16}) = BFloat16
Base.promote_rule(::Type{Float8E4M3}, ::Type{Float8E5M2}) = Float32

# ---- arithmetic

for f in (:+, :-, :*, :/, :^, :rem, :mod, :atan, :hypot)
    @eval Base.$f(x::T, y::T) where {T<:ShortFloat} = T($f(Float32(x), Float32(y)))
end
Base.:^(x::T, n::Integer) where {T<:ShortFloat} = T(Float32(x)^n)
for f in (:<, :<=, :(==))
    @eval Base.$f(x::T, y::T) where {T<:ShortFloat} = $f(Float32(x), Float32(y))
end
Base.fma(x::T, y::T, z::T) where {T<:ShortFloat} = T(fma(Float32(x), Float32(y), Float32(z)))
Base.muladd(x::T, y::T, z::T) where {T<:ShortFloat} = T(muladd(Float32(x), Float32(y), Float32(z)))
for f in (:sqrt, :cbrt, :exp, :exp2, :exp10, :expm1, :log, :log2, :log10, :log1p, :sin, :cos, :tan, :asin, :acos, :atan,
          :sinh, :cosh, :tanh, :asinh, :acosh, :atanh, :sinpi, :cospi, :floor, :ceil, :trunc)
    @eval Base.$f(x::T) where {T<:ShortFloat} = T($f(Float32(x)))
end
for r in (RoundNearest, RoundToZero, RoundUp, RoundDown)
    @eval Base.round(x::T, r::$(typeof(r))) where {T<:ShortFloat} = T(round(Float32(x), r))
end
sign_bit(::Type{T}) where {T<:ShortFloat} = one(bits_type(T)) << (8 * sizeof(T) - 1)
Base.:-(x::T) where {T<:ShortFloat} = reinterpret(T, xor(bits(x), sign_bit(T)))
Base.abs(x::T) where {T<:ShortFloat} = reinterpret(T, bits(x) & ~sign_bit(T))
for f in (:isnan, :isinf, :isfinite, :signbit)
    @eval Base.$f(x::ShortFloat) = $f(Float32(x))
end

# typemax is Inf where there is one, as of Julia's own floats.
for (T, typemax, floatmax, floatmin, eps, precision) in ((:BFloat16, 0x7f80, 0x7f7f, 0x0080, 0x3c00, 8),
                                                         (:Float8E4M3, 0x7e, 0x7e, 0x08, 0x20, 4),
                                                         (:Float8E5M2, 0x7c, 0x7b, 0x04, 0x34, 3))
    @eval Base.typemax(::Type{$T}) = reinterpret($T, $typemax)
    @eval Base.typemin(::Type{$T}) = -typemax($T)
    @eval Base.floatmax(::Type{$T}) = reinterpret($T, $floatmax)
    @eval Base.floatmin(::Type{$T}) = reinterpret($T, $floatmin)
    @eval Base.eps(::Type{$T}) = reinterpret($T, $eps)
    @eval Base.precision(::Type{$T}) = $precision
end
