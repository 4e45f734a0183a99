# What symbolic numbers record, and what they refuse.

record(f, types...) =
    TCUOps.record_call(f, Any[TCUOps.input_symbol(T, i - 1) for (i, T) in enumerate(types)])
ops(s) = [TCUOps.OP_NAMES[n.index] for n in s.tape if n.kind == TCUOps.NODE_OP]
type(::TCUOps.Sym{T}) where {T} = T
unrecordable(f, types...) = try
    record(f, types...)
    ""
catch e
    something(TCUOps.explain(e, ""), string(e))
end

@test ops(record(x -> x^2 + 1, Float32)) == [:mul, :add]
@test type(record(x -> x^2 + 1, Float32)) == Float32
@test type(record(x -> x / 2, Int32)) == Float64
@test type(record(+, Bool, Bool)) == Int
@test type(record(*, Float16, Int64)) == Float16
@test type(record(x -> x * π, Float32)) == Float32
@test type(record(x -> x + oftype(x, 0.5) * zero(x) - one(x), Float16)) == Float16
@test ops(record((x, y) -> muladd(x, y, 1), Float32, Float32)) == [:fma]
@test ops(record(x -> clamp(x, 0, 1), Float32)) == [:clamp]
@test ops(record(x -> ifelse(x > 0, x, zero(x)), Float32)) == [:gt, :ifelse]
@test ops(record((x -> ifelse(x > 0, x, 0)) ∘ sin, Float32)) == [:sin, :gt, :sin, :ifelse]
@test type(record(x -> round(Int, x), Float64)) == Int
@test type(record(x -> Float16(x), Float64)) == Float16
@test type(record(x -> x << 2, Int8)) == Int8
@test type(record(abs, ComplexF32)) == Float32
@test ops(record(TCUOps.gelu, Float32)) == [:gelu]
@test ops(record((x, y, z) -> x + y + z, Float32, Float32, Float32)) == [:add, :add]
@test record(x -> 3, Float32) == 3

@test occursin("branches on the result of `gt`", unrecordable(x -> x > 0 ? x : -x, Float32))
@test occursin("ifelse", unrecordable(x -> x > 0 && x < 1, Float32))
@test occursin("nextfloat", unrecordable(x -> nextfloat(x) , Float32))
@test occursin("256", unrecordable(x -> foldl((y, _) -> y + y, 1:9; init = x), Float32))

closure(a, b) = x -> a * x + b
rebuilt(f) = TCUOps.symbolize(Ref(0), f)(TCUOps.input_symbol(Float32, 0))
@test [n.index for n in rebuilt(closure(2f0, 3)).tape if n.kind == TCUOps.NODE_SCALAR] == [0, 1]
@test type(rebuilt(closure(2.0, 3))) == Float64
@test length(rebuilt(Base.Fix2(+, 1)).tape) == 3
@test TCUOps.captured_type(typeof(sin)) === Nothing
@test TCUOps.captured_type(typeof(Base.Fix1(*, [1]))) === Any
