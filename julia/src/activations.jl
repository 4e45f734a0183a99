# Scalar definitions of the ops of the table that Base has no function for. The library computes arrays by its own; these
# are what the functions give for single numbers, and what inference knows of their types. An op of the table that has
# none here works on arrays all the same (expr.jl makes the function).
#
# A gradient takes dy first, then y (the output) or x (the input) of the function that it belongs to, as ops.def says.

rsqrt(x::Real) = inv(sqrt(x))
for (f, c) in ((:erf, :erf), (:erfc, :erfc), (:gamma, :tgamma))
    @eval $f(x::Float64) = ccall(($(QuoteNode(c)), Base.Math.libm), Float64, (Float64,), x)
end
lgamma(x::Float64) = (sign = Ref{Int32}(0); ccall((:lgamma_r, Base.Math.libm), Float64, (Float64, Ptr{Int32}), x, sign))
for f in (:erf, :erfc, :gamma, :lgamma)
    @eval $f(x::T) where {T<:AbstractFloat} = T($f(Float64(x)))
    @eval $f(x::Real) = $f(float(x))
end

relu(x::Real) = max(x, zero(x))
relu6(x::Real) = clamp(x, zero(x), oftype(x, 6))
leaky_relu(x::Real, slope::Real) = x > 0 ? float(x) * one(slope) : x * float(slope)
function sigmoid(x::Real)
    e = exp(-abs(x))
    return (x < 0 ? e : one(e)) / (1 + e)
end
hardsigmoid(x::Real) = clamp((float(x) + 3) / 6, zero(float(x)), one(float(x)))
softplus(x::Real) = max(float(x), zero(float(x))) + log1p(exp(-abs(x)))
logsigmoid(x::Real) = min(float(x), zero(float(x))) - log1p(exp(-abs(x)))
softsign(x::Real) = isinf(x) ? sign(float(x)) : x / (1 + abs(x))
elu(x::Real) = x > 0 ? float(x) : expm1(x)
const SELU_LAMBDA, SELU_ALPHA = 1.0507009873554804934, 1.6732632423543772848
selu(x::Real) = (y = float(x); oftype(y, SELU_LAMBDA) * (y > 0 ? y : oftype(y, SELU_ALPHA) * expm1(y)))
gelu(x::Real) = (y = float(x); y == -Inf ? -zero(y) : y * erfc(-y / oftype(y, sqrt(2))) / 2)
gelu_tanh(x::Real) = (y = float(x); y == -Inf ? -zero(y) : y * sigmoid(2 * oftype(y, sqrt(2 / pi)) * (y + oftype(y, 0.044715) * y^3)))
silu(x::Real) = (y = float(x); y == -Inf ? -zero(y) : y * sigmoid(y))
mish(x::Real) = (y = float(x); y == -Inf ? -zero(y) : y * tanh(softplus(y)))
hardswish(x::Real) = (y = float(x); y <= -3 ? zero(y) : y >= 3 ? y : y * ((y + 3) / 6))

logical_and(x::Real, y::Real) = !iszero(x) & !iszero(y)
logical_or(x::Real, y::Real) = !iszero(x) | !iszero(y)
logical_xor(x::Real, y::Real) = xor(!iszero(x), !iszero(y))
xlogy(x::Real, y::Real) = (r = float(x) * log(float(y)); iszero(x) && !isnan(y) ? zero(r) : r)
logaddexp(x::Real, y::Real) = x == y ? x + log(oftype(float(x), 2)) : max(x, y) + log1p(exp(-abs(x - y)))
sqdiff(x::Number, y::Number) = abs2(x - y)
lerp(x::Real, y::Real, t::Real) = x + t * (y - x)

relu_grad(dy::Real, y::Real) = y <= 0 ? zero(dy) * one(y) : dy * one(y)
relu6_grad(dy::Real, y::Real) = (y <= 0) | (y >= 6) ? zero(dy) * one(y) : dy * one(y)
leaky_relu_grad(dy::Real, x::Real, slope::Real) = x > 0 ? float(dy * one(x) * one(slope)) : float(dy * one(x)) * slope
sigmoid_grad(dy::Real, y::Real) = dy * (y * (1 - float(y)))
tanh_grad(dy::Real, y::Real) = dy * ((1 - float(y)) * (1 + y))
elu_grad(dy::Real, y::Real) = float(dy) * (y > 0 ? one(float(y)) : 1 + float(y))
selu_grad(dy::Real, y::Real) =
    (z = float(y); dy * (z > 0 ? oftype(z, SELU_LAMBDA) : z + oftype(z, SELU_LAMBDA * SELU_ALPHA)))
hardsigmoid_grad(dy::Real, x::Real) = (z = float(dy) * one(x); (x <= -3) | (x >= 3) ? zero(z) : z / 6)
hardswish_grad(dy::Real, x::Real) = (z = float(dy) * one(float(x)); x <= -3 ? zero(z) : x >= 3 ? z : z * ((2x + 3) / oftype(z, 6)))
softplus_grad(dy::Real, x::Real) = dy * sigmoid(x)
logsigmoid_grad(dy::Real, x::Real) = dy * sigmoid(-float(x))
softsign_grad(dy::Real, x::Real) = dy * inv(1 + abs(float(x)))^2
silu_grad(dy::Real, x::Real) = (z = float(x); dy * (sigmoid(z) * (1 + z * sigmoid(-z))))
gelu_grad(dy::Real, x::Real) =
    (z = float(x); dy * (erfc(-z / oftype(z, sqrt(2))) / 2 + z * exp(-z * z / 2) / oftype(z, sqrt(2pi))))
function gelu_tanh_grad(dy::Real, x::Real)
    z = float(x)
    u = 2 * oftype(z, sqrt(2 / pi)) * (z + oftype(z, 0.044715) * z^3)
    du = 2 * oftype(z, sqrt(2 / pi)) * (1 + oftype(z, 3 * 0.044715) * z^2)
    return dy * (sigmoid(u) * (1 + z * du * sigmoid(-u)))
end
function mish_grad(dy::Real, x::Real)
    z = float(x)
    t = tanh(softplus(z))
    return dy * (t + z * sigmoid(z) * (1 - t * t))
end
