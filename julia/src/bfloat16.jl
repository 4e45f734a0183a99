# BFloat16: the upper half of a Float32. Scalars compute in Float32 and round to nearest even.

"""
    TCUOps.BFloat16 <: AbstractFloat

The 16-bit float with Float32's exponent range and 8 bits of precision. Arithmetic on scalars goes through Float32; on
arrays it is the library's (computed in Float32, rounded once).
"""
primitive type BFloat16 <: AbstractFloat 16 end

Base.Float32(x::BFloat16) = reinterpret(Float32, UInt32(reinterpret(UInt16, x)) << 16)
Base.Float64(x::BFloat16) = Float64(Float32(x))
Base.Float16(x::BFloat16) = Float16(Float32(x))
Base.BigFloat(x::BFloat16) = BigFloat(Float32(x))

function BFloat16(x::Float32)
    isnan(x) && return reinterpret(BFloat16, 0x7fc0)
    bits = reinterpret(UInt32, x)
    return reinterpret(BFloat16, ((bits + 0x7fff + ((bits >> 16) & 0x1)) >> 16) % UInt16)
end
BFloat16(x::BFloat16) = x
# Through Float32, rounding to odd, so that rounding twice gives what rounding once would.
function BFloat16(x::Float64)
    y = Float32(x)
    isfinite(y) && Float64(y) != x || return BFloat16(y)
    bits = reinterpret(UInt32, y)
    bits -= abs(Float64(y)) > abs(x)
    return BFloat16(reinterpret(Float32, bits | 0x1))
end
for S in (Float16, Integer, Rational, Irrational)
    @eval BFloat16(x::$S) = BFloat16(Float64(x))
end
BFloat16(x::Bool) = BFloat16(Float32(x))
(::Type{T})(x::BFloat16) where {T<:Integer} = T(Float32(x))
Base.Bool(x::BFloat16) = Bool(Float32(x))
Base.trunc(::Type{T}, x::BFloat16) where {T<:Integer} = trunc(T, Float32(x))
Base.round(::Type{T}, x::BFloat16) where {T<:Integer} = round(T, Float32(x))

Base.promote_rule(::Type{BFloat16}, ::Type{Float32}) = Float32
Base.promote_rule(::Type{BFloat16}, ::Type{Float64}) = Float64
Base.promote_rule(::Type{BFloat16}, ::Type{Float16}) = Float32
Base.promote_rule(::Type{BFloat16}, ::Type{<:Integer}) = BFloat16
Base.promote_rule(::Type{BFloat16}, ::Type{Bool}) = BFloat16
Base.promote_rule(::Type{BFloat16}, ::Type{<:Irrational}) = BFloat16
Base.promote_rule(::Type{BFloat16}, ::Type{<:Rational}) = BFloat16

for f in (:+, :-, :*, :/, :^, :rem, :mod, :atan, :hypot)
    @eval Base.$f(x::BFloat16, y::BFloat16) = BFloat16($f(Float32(x), Float32(y)))
end
Base.:^(x::BFloat16, n::Integer) = BFloat16(Float32(x)^n)
for f in (:<, :<=, :(==))
    @eval Base.$f(x::BFloat16, y::BFloat16) = $f(Float32(x), Float32(y))
end
Base.fma(x::BFloat16, y::BFloat16, z::BFloat16) = BFloat16(fma(Float32(x), Float32(y), Float32(z)))
Base.muladd(x::BFloat16, y::BFloat16, z::BFloat16) = BFloat16(muladd(Float32(x), Float32(y), Float32(z)))
for f in (:sqrt, :cbrt, :exp, :exp2, :exp10, :expm1, :log, :log2, :log10, :log1p, :sin, :cos, :tan, :asin, :acos, :atan,
          :sinh, :cosh, :tanh, :asinh, :acosh, :atanh, :sinpi, :cospi, :floor, :ceil, :trunc)
    @eval Base.$f(x::BFloat16) = BFloat16($f(Float32(x)))
end
for r in (RoundNearest, RoundToZero, RoundUp, RoundDown)
    @eval Base.round(x::BFloat16, r::$(typeof(r))) = BFloat16(round(Float32(x), r))
end
Base.:-(x::BFloat16) = reinterpret(BFloat16, xor(reinterpret(UInt16, x), 0x8000))
Base.abs(x::BFloat16) = reinterpret(BFloat16, reinterpret(UInt16, x) & 0x7fff)
for f in (:isnan, :isinf, :isfinite, :signbit)
    @eval Base.$f(x::BFloat16) = $f(Float32(x))
end
Base.typemax(::Type{BFloat16}) = reinterpret(BFloat16, 0x7f80)
Base.typemin(::Type{BFloat16}) = reinterpret(BFloat16, 0xff80)
Base.floatmax(::Type{BFloat16}) = reinterpret(BFloat16, 0x7f7f)
Base.floatmin(::Type{BFloat16}) = reinterpret(BFloat16, 0x0080)
Base.eps(::Type{BFloat16}) = reinterpret(BFloat16, 0x3c00)
Base.precision(::Type{BFloat16}) = 8
Base.show(io::IO, x::BFloat16) = print(io, "BFloat16(", Float32(x), ")")
Base.print(io::IO, x::BFloat16) = print(io, Float32(x))
