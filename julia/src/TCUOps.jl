"""
TCUOps: broadcasting, reduction and scan of libtcuops.so over arrays on the CPU and on NVIDIA GPUs.

    using TCUOps
    x = TCUArray(rand(Float32, 64, 1000))
    y = tanh.(x .* 2 .+ 1)                       # one call, whatever the expression
    m = sum(abs2, y .- sum(y; dims = 2) ./ 1000; dims = 2)
    c = cumsum(x; dims = 2)
    Array(c)

The names of TCUOps that Base has too (`TCUOps.sum`, `TCUOps.cumsum`, ...) work on plain arrays; see [`TCUArray`](@ref),
[`TCUOps.device!`](@ref), [`TCUOps.kernel_calls`](@ref).
"""
module TCUOps

import Libdl
import LinearAlgebra
import Random
import Statistics
using LinearAlgebra: Adjoint, Transpose, adjoint, transpose
using Random: AbstractRNG
using Base.Broadcast: Broadcasted, BroadcastStyle, AbstractArrayStyle, DefaultArrayStyle, broadcasted

export TCUArray, TCUVector, TCUMatrix, logsumexp

include("library.jl")
include("errors.jl")
include("short_floats.jl")
include("tables.jl")
include("context.jl")
include("capi.jl")
include("array.jl")
include("copy.jl")
include("indexing.jl")
include("activations.jl")
include("expr.jl")
include("rules.jl")
include("capture.jl")
include("code.jl")
include("lowered.jl")
include("state.jl")
include("broadcast.jl")
include("reduce.jl")
include("several.jl")
include("argreduce.jl")
include("moments.jl")
include("scan.jl")
include("segments.jl")
include("linalg.jl")
include("stats.jl")
include("plain.jl")
include("precompile.jl")

end
