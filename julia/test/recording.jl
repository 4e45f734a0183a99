# What symbolic numbers record, and what they refuse.

record(f, types...) =
    TCUOps.record_call(f, Any[TCUOps.input_symbol(T, i - 1) for (i, T) in enumerate(types)])
ops(s) = [TCUOps.OP_NAMES[n.index] for n in s.tape if n.kind == TCUOps.NODE_OP]
type(::TCUOps.Sym{T}) where {T} = T
unrecordable(f, types...) = try
    record(f, types...)
    ""
catch e
    TCUOps.explain(e, "")
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

# Globals, and constants whose contents may change, are read anew, whichever function names them.
factor = 0.0
const FACTOR = Ref(0.0)
module Elsewhere
    factor = 0.0
    by_factor(x) = factor * x
    set(value) = global factor = value
end
by_global(x) = factor * x
by_constant(x) = FACTOR[] * x
by_option(x; by = factor) = by * x
by_others(x) = by_constant(x) + Elsewhere.by_factor(x) + Elsewhere.factor
with_option(x) = by_option(x)
for value in (2.0, 3.0)
    global factor = FACTOR[] = value
    Elsewhere.set(value)
    for f in (by_global, by_constant, by_others, with_option, by_constant ∘ abs, x -> by_global(x) + 1)
        @test compare(x -> f.(x), [1.0, 2.0])
        @test compare(x -> sum(f, x), [1.0, 2.0])
    end
end
chosen(x) = -x
by_name = chosen
through(x) = by_name(x)
@test compare(x -> through.(x), [1.0, 2.0])
by_name = abs2
@test compare(x -> through.(x), [1.0, 2.0])
let x = TCUArray([1.0, 2.0]), scaled = k -> (y -> k * y).(x)
    kept() = sum(length, values(TCUOps.RECORDINGS))
    scaled(1.0)
    before = kept()
    foreach(scaled, 1.0:5.0)           # captured scalars are no reason to record anew
    @test kept() == before
end

# Functions that treat numbers by their types are recorded as those numbers would have it.
kind(x) = x isa AbstractFloat ? x + 1 : x isa Integer ? 3x : zero(x)
method(x::AbstractFloat) = x + 1
method(x::Integer) = 3x
method(x) = zero(x)
parameter(x::T) where {T} = T === Float32 ? T(2) * x : T <: Integer ? x + one(T) : zero(x)
single(x::Float32) = 2x
single(x::Real) = 3x
twice(x, f) = f(f(x))
option(x; by::Integer = 2) = method(x) * by
powers(x::T) where {T} = sum(ntuple(i -> (i + one(T)) * x^i, 3))
with_types(x::T) where {T} = sizeof(x) == 4 ? convert(T, 2) * x : T <: Integer ? Float32(x) : x::AbstractFloat
function loop(x, n::Int)
    total = zero(typeof(x))
    for i in 1:n
        total += i isa Int ? method(x) : x
    end
    return total
end
for T in (Bool, Int8, UInt32, Float16, Float32, Float64)
    a = sample(T, 5)
    for f in (kind, method, parameter, single, method ∘ abs, abs2 ∘ method ∘ abs, Base.Fix2(twice, method), x -> method(x) + 1, x -> option(x; by = 3), x -> loop(x, 3), powers, with_types,
              x -> sum(map(method, (x, x + x))), x -> (eltype(x) <: AbstractFloat ? x : x + x))
        @test compare(x -> f.(x), a)
    end
    @test compare(x -> isa.(x, AbstractFloat), a)
    @test compare(x -> option.(x; by = 3), a)
end
@test occursin("===", TCUOps.recording_error(x -> x === 1.0, TCUArray([1.0])))
