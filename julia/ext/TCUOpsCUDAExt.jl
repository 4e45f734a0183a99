# With CUDA.jl loaded: a CuArray is wrapped without a copy, and work on it is ordered by CUDA.jl's stream of the task.
module TCUOpsCUDAExt

using CUDA: CUDA, CuArray, DenseCuArray
using TCUOps

function cuda_context(a)
    context = TCUOps.context(:cuda, CUDA.deviceid(CUDA.device(a)))
    return TCUOps.stream!(context, Ptr{Cvoid}(UInt(CUDA.stream().handle)))
end

"""
    TCUOps.wrap(a::CuArray) -> TCUArray

The same device memory as a TCUArray on that GPU; `a` lives as long as the wrapper. The context's stream becomes CUDA.jl's
stream of the calling task, so that work of both is ordered.
"""
TCUOps.wrap(a::DenseCuArray{T,N}) where {T,N} =
    TCUOps.wrap(Ptr{T}(UInt(pointer(a))), size(a), cuda_context(a); owner = a)

TCUOps.shared(a::DenseCuArray) = TCUOps.wrap(a)

# A result as a CuArray over the memory that the TCUArray owns, which the CuArray's finalizer keeps alive until then.
function TCUOps.unshared(::DenseCuArray, result::TCUArray{T}) where {T}
    memory = CUDA.unsafe_wrap(CuArray, CUDA.CuPtr{T}(UInt(pointer(result))), size(result); own = false)
    return finalizer(_ -> (result; nothing), memory)
end
TCUOps.unshared(like::DenseCuArray, result::Tuple) = map(r -> TCUOps.unshared(like, r), result)
TCUOps.unshared(::DenseCuArray, result) = result

TCUOps.TCUArray(a::DenseCuArray) = copy(TCUOps.wrap(a))

end
