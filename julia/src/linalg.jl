# Matrix products: the library has none of its own. BLAS through LinearAlgebra on the CPU, cuBLAS on a GPU.

function LinearAlgebra.mul!(C::TCUArray, A::AnyTCU, B::AnyTCU, alpha::Number, beta::Number)
    ndims(C) <= 2 && ndims(A) <= 2 && ndims(B) <= 2 || throw(ArgumentError("mul! takes vectors and matrices"))
    matrix_product!(as_matrix(C), as_matrix(A), as_matrix(B), alpha, beta)
    return C
end
LinearAlgebra.mul!(C::TCUArray, A::AnyTCU, B::AnyTCU) = LinearAlgebra.mul!(C, A, B, true, false)

as_matrix(x::TCUVector) = reshape(x, (length(x), 1))
as_matrix(x) = x
owner(x::TCUArray) = x
owner(x) = owner(parent(x))

function matrix_product!(C::TCUMatrix, A, B, alpha, beta)
    size(A, 2) == size(B, 1) && size(C) == (size(A, 1), size(B, 2)) || throw(DimensionMismatch(
        "a product of sizes $(size(A)) and $(size(B)) into $(size(C))"))
    isempty(C) && return C
    (overlaps(C, owner(A)) || overlaps(C, owner(B))) &&
        return copyto!(C, matrix_product!(copy(C), A, B, alpha, beta))
    if iscpu(context(C))
        GC.@preserve C A B host_product!(C, A, B, alpha, beta)
    else
        device_product!(C, unit_stride(strided(A), eltype(C)), unit_stride(strided(B), eltype(C)), alpha, beta)
    end
    return C
end

# gemm where BLAS takes the operands as they lie, LinearAlgebra's own loop elsewhere.
function host_product!(C::TCUMatrix{T}, A, B, alpha, beta) where {T}
    if T <: LinearAlgebra.BlasFloat && eltype(A) === T && eltype(B) === T && C.strides[1] == 1
        c, a, b = blas_columns(C), blas_operand(A), blas_operand(B)
        c !== nothing && a !== nothing && b !== nothing && T(alpha) == alpha && T(beta) == beta &&
            return LinearAlgebra.BLAS.gemm!(a[1], b[1], T(alpha), a[2], b[2], T(beta), c)
    end
    LinearAlgebra.mul!(opaque(hostview(C)), opaque(host_matrix(A)), opaque(host_matrix(B)), alpha, beta)
end
host_matrix(x) = hostview(strided(x))

# The letter and the matrix that gemm takes for an operand, or nothing.
blas_operand(x::TCUMatrix) = (m = blas_columns(x); m !== nothing ? ('N', m) : with_letter('T', blas_columns(transposed(x))))
blas_operand(x::Adjoint{<:Complex}) = with_letter('C', blas_columns(as_matrix(parent(x))))
blas_operand(x) = blas_operand(strided(x))
with_letter(_, ::Nothing) = nothing
with_letter(letter, m) = (letter, m)

# Host memory as a matrix with contiguous columns, or nothing: an Array's, or that of a view into one.
function blas_columns(x::TCUMatrix)
    (m, n), (s, t) = x.dims, x.strides
    (s == 1 || m == 1) && (t >= max(m, 1) || n == 1) || return nothing
    return view(unsafe_wrap(Array, x.pointer, (n == 1 ? m : t, n)), 1:m, 1:n)
end

# What cuBLAS takes: C's dtype, and stride 1 along one mode.
unit_stride(x::TCUMatrix{T}, ::Type{T}) where {T} = Base.any(isequal(1), x.strides) ? x : copy(x)
unit_stride(x::TCUMatrix, ::Type{T}) where {T} = T.(x)
unit_stride(x::TCUVector, ::Type{T}) where {T} = unit_stride(as_matrix(x), T)

function device_product!(C::TCUMatrix{T}, A, B, alpha, beta) where {T}
    GC.@preserve C A B with_call(context(C)) do call
        call.out[1] = tensor!(call, C)
        push_input!(call, A)
        push_input!(call, B)
        call.coefficients[1] = cscalar(T, alpha)
        call.coefficients[2] = cscalar(T, beta)
        options = set_options!(call; alpha = alpha !== true, beta = beta !== false)
        a = pointer(call.inputs)
        GC.@preserve call options check(@tcu tcu_matmul(call.context.handle::Ptr{Cvoid}, pointer(call.out)::Ptr{CTensor},
            a::Ptr{CTensor}, (a + sizeof(CTensor))::Ptr{CTensor}, pointer(options)::Ptr{COptions})::Int32)
    end
    return C
end

product_type(A, B) = (T = promote_type(eltype(A), eltype(B)); typeof(zero(T) * zero(T) + zero(T) * zero(T)))

"""
    A * B, mul!(C, A, B, alpha, beta)

Matrix and vector products of TCUArrays and their lazy transposes, by BLAS on the CPU and cuBLAS on a GPU. C may overlap A and B: then
the product is made beside it. DimensionMismatch when the sizes do not fit.
"""
function product(A, B)
    C = new_array(context(A), product_type(A, B), (size(A, 1), size(B, 2)))
    return matrix_product!(C, as_matrix(A), as_matrix(B), true, false)
end
const MatrixLike = Union{TCUMatrix,Transpose{<:Any,<:TCUMatrix},Adjoint{<:Any,<:TCUMatrix},PermutedDimsArray{<:Any,2,<:Any,<:Any,<:TCUMatrix}}
const RowLike = Union{Transpose{<:Any,<:TCUVector},Adjoint{<:Any,<:TCUVector}}

Base.:*(A::MatrixLike, B::MatrixLike) = product(A, B)
Base.:*(A::MatrixLike, b::TCUVector) = vec(product(A, as_matrix(b)))
Base.:*(a::TCUVector, B::MatrixLike) = product(as_matrix(a), B)
Base.:*(a::TCUVector, b::RowLike) = a .* b
Base.:*(a::RowLike, B::MatrixLike) = product(a, B)
Base.:*(a::Adjoint{<:Number,<:TCUVector}, b::TCUVector{<:Number}) = LinearAlgebra.dot(parent(a), b)
Base.:*(a::Transpose{<:Number,<:TCUVector}, b::TCUVector{<:Number}) = Base.sum(tree(*, parent(a), b))
Base.:*(a::Transpose{T,<:TCUVector}, b::TCUVector{T}) where {T<:Real} = Base.sum(tree(*, parent(a), b))

LinearAlgebra.lmul!(a::Number, x::TCUArray) = x .= a .* x
LinearAlgebra.rmul!(x::TCUArray, a::Number) = x .= x .* a
LinearAlgebra.axpy!(a::Number, x::TCUArray, y::TCUArray) = y .+= a .* x
LinearAlgebra.axpby!(a::Number, x::TCUArray, b::Number, y::TCUArray) = y .= a .* x .+ b .* y
