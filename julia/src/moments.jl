# mean, var, std, norm and dot.

mean_type(::Type{T}) where {T} = typeof(zero(T) / 1)

function mean_tree(t, dims)
    n = folded_length(t, reduced_dims(length(axes(t)), dims))
    T = element_type(t)
    R = mean_type(T)
    A = widened(R)
    # One mean is divided on the host, and rounds once; many are scaled in the accumulator.
    dims === (:) && return convert(R, reduce_alloc(SUM, t, A, dims; accumulator = A) / convert(real(A), n))
    return reduce_alloc(SUM, t, R, dims; alpha = inv(convert(real(A), n)), accumulator = A)
end

"""
    mean([f,] A::TCUArray; dims = :), var(A; dims, corrected = true, mean = nothing), std(...)

As in Statistics. Means are one call of the library and variances two (the mean, then the squared distances from it). Integers
give Float64; 16-bit floats are accumulated in Float32 and rounded once.
"""
Statistics.mean(A::Reducible; dims = :) = mean_tree(tree(identity, A), dims)
Statistics.mean(f, A::Reducible; dims = :) = mean_tree(tree(f, A), dims)
Statistics.mean!(r::AnyTCU, A::AnyTCU) = scaled_sum!(r, tree(identity, A), inv(folded_length(A, dims_of_output(r, A))), false)

distance2(x, m) = abs2(x - m)

function Statistics.var(A::AnyTCU; dims = :, corrected::Bool = true, mean = nothing)
    x = strided(A)
    reduced = reduced_dims(ndims(x), dims)
    n = folded_length(x, reduced)
    T = mean_type(eltype(x))
    S = widened(T)
    # The mean is kept in the accumulator's precision: a rounded one would be a bias of every distance.
    center = mean !== nothing ? mean : reduce_alloc(SUM, x, S, dims; alpha = inv(convert(real(S), n)), accumulator = S)
    t = tree(distance2, x, center isa AbstractArray ? center : convert(S, center))
    R, scale = real(T), inv(convert(real(S), n - corrected))
    dims === (:) && return convert(R, reduce_alloc(SUM, t, real(S), dims; accumulator = real(S)) * scale)
    return reduce_alloc(SUM, t, R, dims; alpha = scale, accumulator = real(S))
end
function Statistics.std(A::AnyTCU; options...)
    v = Statistics.var(A; options...)
    return v isa TCUArray ? (v .= sqrt.(v)) : sqrt(v)
end

# ---- norms ----

norm_type(::Type{T}) where {T} = typeof(float(real(one(T))))

function norm2(x, ::Type{R}) where {R}
    A = Float64
    squares = reduce_alloc(SUM, tree(abs2 ∘ accumulator_cast(A, eltype(x)), x), Float64, :; accumulator = A)
    isfinite(squares) && squares > floatmin(Float64) / eps(Float64) && return R(sqrt(squares))
    # Out of Float64's range: once more, relative to the largest.
    top = Base.maximum(abs, x)
    (iszero(top) || !isfinite(top)) && return R(top)
    return R(top * sqrt(Base.sum(tree(relative2, x, Float64(top)))))
end
relative2(x, top) = abs2(x / top)
accumulator_cast(::Type{A}, ::Type{T}) where {A,T<:Real} = A
accumulator_cast(::Type{A}, ::Type{T}) where {A,T<:Complex} = Complex{A}

"""
    norm(A::TCUArray, p = 2), dot(x, y), isapprox(x, y)

As in LinearAlgebra and Base, each by one or two reductions; squares are summed in Float64.
"""
function LinearAlgebra.norm(A::AnyTCU, p::Real = 2)
    x = strided(A)
    R = norm_type(eltype(x))
    isempty(x) && return zero(R)
    p == 2 && return norm2(x, R)
    p == 1 && return R(Base.sum(abs, x))
    p == Inf && return R(Base.maximum(abs, x))
    p == -Inf && return R(Base.minimum(abs, x))
    p == 0 && return R(Base.count(!iszero, x))
    exponent = float(p)
    return R(Base.sum(tree(y -> abs(y)^exponent, x))^inv(exponent))
end

function LinearAlgebra.dot(x::AnyTCU, y::AnyTCU)
    length(x) == length(y) || throw(DimensionMismatch("dot product of arrays of lengths $(length(x)) and $(length(y))"))
    size(x) == size(y) || return LinearAlgebra.dot(vec(contiguous(strided(x))), vec(contiguous(strided(y))))
    return Base.sum(tree(conjugate_product, x, y))
end
conjugate_product(x, y) = conj(x) * y

function Base.:(==)(x::AnyTCU, y::AnyTCU)
    axes(x) == axes(y) || return false
    return Base.all(tree(==, x, y))
end

function Base.isapprox(x::AnyTCU, y::AnyTCU; atol::Real = 0,
                       rtol::Real = Base.rtoldefault(eltype(x), eltype(y), atol), nans::Bool = false)
    distance = LinearAlgebra.norm(tree_array(-, x, y))
    isfinite(distance) && return distance <= max(atol, rtol * max(LinearAlgebra.norm(x), LinearAlgebra.norm(y)))
    return isapprox(Array(x), Array(y); atol = atol, rtol = rtol, nans = nans)
end
tree_array(f, x, y) = Broadcast.materialize(tree(f, x, y))
