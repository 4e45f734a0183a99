# mean, var, std, logsumexp, norm and dot.

# What is no fold of its results: the element's float type comes out.
const MEAN = Fold(REDUCE_MEAN, nothing)
const VAR = Fold(REDUCE_VAR, nothing)
const STD = Fold(REDUCE_STD, nothing)
const NORM = Fold(REDUCE_NORM, nothing)
const LOGSUMEXP = Fold(REDUCE_LOGSUMEXP, nothing)

mean_type(::Type{T}) where {T} = typeof(zero(T) / 1)

mean_tree(t, dims) = reduce_alloc(MEAN, t, mean_type(element_type(t)), dims)

"""
    mean([f,] A::TCUArray; dims = :), var(A; dims, corrected = true, mean = nothing), std(...)

As in Statistics, each in one call of the library and one pass over `A`; variances of complex numbers, and around a given `mean`,
in up to two. Integers give Float64; 8- and 16-bit floats are accumulated in Float32 and rounded once.
"""
Statistics.mean(A::Reducible; dims = :) = mean_tree(tree(identity, A), dims)
Statistics.mean(f, A::Reducible; dims = :) = mean_tree(tree(f, A), dims)
function Statistics.mean!(r::AnyTCU, A::AnyTCU)
    out = strided_output(r)
    fold_into!(drop_trailing(out, axes(A)), REDUCE_MEAN, tree(identity, A), dims_of_output(out, A))
    return r
end

Statistics.var(A::AnyTCU; dims = :, corrected::Bool = true, mean = nothing) =
    mean === nothing && eltype(A) <: Real ? deviation(VAR, A, dims, corrected) : var_around(strided(A), dims, corrected, mean)
function Statistics.std(A::AnyTCU; dims = :, corrected::Bool = true, mean = nothing)
    mean === nothing && eltype(A) <: Real && return deviation(STD, A, dims, corrected)
    v = Statistics.var(A; dims = dims, corrected = corrected, mean = mean)
    return v isa TCUArray ? (v .= sqrt.(v)) : sqrt(v)
end
for (name, of) in ((:varm, :var), (:stdm, :std)), M in (:Any, :AbstractArray)
    @eval Statistics.$name(A::AnyTCU, m::$M; corrected::Bool = true, dims = :) =
        Statistics.$of(A; dims = dims, corrected = corrected, mean = m)
end
deviation(fold, A, dims, corrected) =
    reduce_alloc(fold, strided(A), mean_type(eltype(A)), dims; correction = Float64(corrected))

"""
    TCUOps.mean_and_var(A; dims = :, corrected = true), TCUOps.mean_and_std(...)

`(mean(A; dims = dims), var(A; dims = dims, corrected = corrected))`, or `std`, of real elements in one call of the library and one
pass over `A`. ArgumentError where there are no elements.
"""
mean_and_var(A::Reducible; dims = :, corrected::Bool = true) = mean_and(REDUCE_VAR, tree(identity, A), dims, corrected)
mean_and_std(A::Reducible; dims = :, corrected::Bool = true) = mean_and(REDUCE_STD, tree(identity, A), dims, corrected)
function mean_and(id, t, dims, corrected)
    T = mean_type(element_type(t))
    deviations, means = reduce_both(id, t, T, T, dims; correction = Float64(corrected))
    return means, deviations
end

distance2(x, m) = abs2(x - m)

# The sum of squared distances from a mean that is given, or found first.
function var_around(x, dims, corrected, mean)
    n = folded_length(x, reduced_dims(ndims(x), dims))
    T = mean_type(eltype(x))
    S = widened(T)
    # The mean is kept in the accumulator's precision: a rounded one would be a bias of every distance.
    center = mean !== nothing ? mean : reduce_alloc(MEAN, x, S, dims; accumulator = S)
    t = tree(distance2, x, center isa AbstractArray ? center : convert(S, center))
    R, scale = real(T), inv(convert(real(S), max(n - corrected, 0)))
    dims === (:) && return convert(R, reduce_alloc(SUM, t, real(S), dims; accumulator = real(S)) * scale)
    return reduce_alloc(SUM, t, R, dims; alpha = scale, accumulator = real(S))
end

"""
    logsumexp(A; dims = :)

`log.(sum(exp.(A); dims = dims))` of real elements, in one call of the library and one pass over `A`, without the overflow of `exp`:
a number for `dims = :`, else an array with extent 1 in `dims`. Integers give Float64; 8- and 16-bit floats are accumulated in Float32 and
rounded once. `-Inf` where there are no elements or all are `-Inf`, `NaN` where one is. `A` is a TCUArray, a lazy tree or a plain array.
"""
logsumexp(A::Reducible; dims = :) = logsumexp_tree(tree(identity, A), dims)
function logsumexp_tree(t, dims)
    T = element_type(t)
    T <: Real || throw(ArgumentError("logsumexp is of real numbers, and the elements are $T"))
    return reduce_alloc(LOGSUMEXP, t, mean_type(T), dims)
end

"""
    TCUOps.sumexp(A; dims = :) -> sums, maxima

`maxima = maximum(A; dims = dims)` and `sums = sum(exp.(A .- maxima); dims = dims)` of real elements, the two numbers of a softmax,
in one call of the library and one pass over `A`. NaN where the maximum is not finite. Integers give Float64; 8- and 16-bit floats are
accumulated in Float32 and rounded once. ArgumentError where there are no elements.
"""
function sumexp(A::Reducible; dims = :)
    t = tree(identity, A)
    T = mean_type(element_type(t))
    return reduce_both(REDUCE_SUMEXP, t, T, T, dims)
end

# ---- norms ----

norm_type(::Type{T}) where {T} = typeof(float(real(one(T))))

function norm2(x, ::Type{R}) where {R}
    length_of_x = reduce_alloc(NORM, x, Float64, :; accumulator = Float64)
    isfinite(length_of_x) && length_of_x > sqrt(floatmin(Float64) / eps(Float64)) && return R(length_of_x)
    # Its square is out of Float64's range: once more, relative to the largest.
    top = Base.maximum(abs, x)
    (iszero(top) || !isfinite(top)) && return R(top)
    return R(top * sqrt(Base.sum(tree(relative2, x, Float64(top)))))
end
relative2(x, top) = abs2(x / top)

"""
    norm(A::TCUArray, p = 2), dot(x, y), isapprox(x, y)

As in LinearAlgebra and Base, each by one or two reductions; squares are summed in Float64.
"""
function LinearAlgebra.norm(A::AnyTCU, p::Real = 2)
    x = strided(A)
    R = norm_type(eltype(x))
    isempty(x) && return zero(R)
    p == 2 && return norm2(x, R)
    magnitude(y) = abs(float(y))  # which of the least integer is none
    p == 1 && return R(Base.sum(magnitude, x))
    p == Inf && return R(Base.maximum(magnitude, x))
    p == -Inf && return R(Base.minimum(magnitude, x))
    p == 0 && return R(Base.count(!iszero, x))
    exponent = float(p)
    return R(Base.sum(tree(y -> magnitude(y)^exponent, x))^inv(exponent))
end

LinearAlgebra.normalize(A::AnyTCU, p::Real = 2) = A ./ LinearAlgebra.norm(A, p)
LinearAlgebra.normalize!(A::AnyTCU, p::Real = 2) = A .= A ./ LinearAlgebra.norm(A, p)

function LinearAlgebra.dot(x::AnyTCU, y::AnyTCU)
    length(x) == length(y) || throw(DimensionMismatch("dot product of arrays of lengths $(length(x)) and $(length(y))"))
    size(x) == size(y) || return LinearAlgebra.dot(vec(contiguous(strided(x))), vec(contiguous(strided(y))))
    return Base.sum(tree(conjugate_product, x, y))
end
conjugate_product(x, y) = conj(x) * y

Base.:(==)(x::AnyTCU, y::AnyTCU) = axes(x) == axes(y) && Base.all(tree(==, x, y))
Base.isequal(x::AnyTCU, y::AnyTCU) = axes(x) == axes(y) && Base.all(tree(isequal, x, y))
Base.hash(x::AnyTCU, h::UInt) = hash(Array(x), h)

function Base.isapprox(x::AnyTCU, y::AnyTCU; atol::Real = 0,
                       rtol::Real = Base.rtoldefault(eltype(x), eltype(y), atol), nans::Bool = false)
    distance = LinearAlgebra.norm(tree_array(-, x, y))
    isfinite(distance) && return distance <= max(atol, rtol * max(LinearAlgebra.norm(x), LinearAlgebra.norm(y)))
    return isapprox(Array(x), Array(y); atol = atol, rtol = rtol, nans = nans)
end
tree_array(f, x, y) = Broadcast.materialize(tree(f, x, y))
