# Every row of the op table that has a scalar function in Julia, on the float and integer types that it is defined on.

arguments(::Type{T}, name) where {T} =
    name in (:acosh,) ? T.([1, 1.5, 2, 5]) :
    name in (:asin, :acos, :atanh) ? T.([-0.75, -0.25, 0, 0.5]) :
    name in (:log, :log2, :log10, :sqrt, :rsqrt, :gamma, :lgamma) ? T.([0.25, 1, 2.5, 4]) :
    name in (:log1p,) ? T.([-0.5, 0, 1, 4]) : T.([-2.5, -0.5, 0.75, 3])
seconds(::Type{T}, name) where {T} =
    name in (:pow, :xlogy) ? T.([2, 3, 0.5, 1]) : T.([1.5, -2, 0.5, 2])

function scalar_function(f)
    owner, short = f.args[1], f.args[2].value
    return getfield(owner === :TCUOps ? TCUOps : Base, short)
end

for (id, name, arity, expression) in TCUOps.OP_TABLE
    f = scalar_function(expression)
    name in (:shl, :shr, :bit_not, :bit_and, :bit_or, :bit_xor, :logical_not, :ifelse) && continue
    for T in (Float32, Float64)
        x, y, z = arguments(T, name), seconds(T, name), T[2, 2, 2, 2]
        name === :clamp && (y = T[-1, -1, -1, -1])
        name === :pow && (x = abs.(x))
        args = (x, y, z)[1:arity]
        applicable(f, map(first, args)...) || continue
        @test compare((xs...) -> Base.broadcast(f, xs...), args...)
        # The same inside a function of the user's.
        T === Float32 && arity == 1 && @test compare(x -> (v -> f(v)).(x), x)
        T === Float32 && arity == 2 && @test compare((x, y) -> ((v, w) -> f(v, w)).(x, y), x, y)
    end
end

for T in (Int8, Int32, Int64, UInt8, UInt64)
    x, y = T.([1, 2, 3, 100]), T.([3, 2, 1, 4])
    for f in (+, -, *, /, max, min, div, rem, mod, <, <=, >, >=, ==, !=, &, |, xor, fld, cld)
        @test compare((x, y) -> f.(x, y), x, y)
    end
    for f in (abs, abs2, sign, ~, sqrt, exp, isnan, signbit, float)
        @test compare(x -> f.(x), x)
    end
    @test compare(x -> x .<< 1, x)
    @test compare(x -> x .>> 1, x)
    @test compare(x -> x .^ 2, x)
end
for T in COMPLEX
    x, y = sample(T, 9), sample(T, 9)
    for f in (+, -, *, /, ==)
        @test compare((x, y) -> f.(x, y), x, y)
    end
    for f in (abs, abs2, real, imag, conj, angle, exp, sqrt, inv, -)
        @test compare(x -> f.(x), x)
    end
    @test compare(x -> x .* (1 + 2im), x)
    @test compare(x -> (z -> z * im).(x), x)
end
special = [NaN, Inf, -Inf, 0.0, -0.0, 1.0]
for f in (max, min, +, *, atan, hypot), T in (Float32, Float64)
    @test compare((x, y) -> f.(x, y'), T.(special), T.(special))
end
