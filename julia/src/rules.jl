# What Base does not compute in the type that the operands promote to: rules of some ops, by their ids. A rule gives the symbol of the
# result, or nothing where the op itself is right.

differ_in_sign(@nospecialize(X), @nospecialize(Y)) = X <: Signed && Y <: Unsigned || X <: Unsigned && Y <: Signed

# A negative number would be a large one in an unsigned type; it is below all unsigned numbers.
function compare_exactly(id::Int32, @nospecialize(f), @nospecialize(x), @nospecialize(y))
    X, Y = symbol_type(x), symbol_type(y)
    differ_in_sign(X, Y) && promote_type(X, Y) <: Unsigned || return nothing
    plain = node(id, f, Any[x, y])
    X <: Signed && return f(-1, 0) ? signbit(x) | plain : !signbit(x) & plain
    return f(0, -1) ? signbit(y) | plain : !signbit(y) & plain
end

# Base's formulas, of a signed and an unsigned number, and of an unsigned and a signed one.
const QUOTIENTS = IdDict{Any,Tuple{Function,Function}}(
    div => ((x, y) -> flipsign(signed(div(unsigned(abs(x)), y)), x), (x, y) -> unsigned(flipsign(signed(div(x, unsigned(abs(y)))), y))),
    rem => ((x, y) -> flipsign(signed(rem(unsigned(abs(x)), y)), x), (x, y) -> rem(x, unsigned(abs(y)))),
    mod => ((x, y) -> rem(y + unsigned(rem(x, y)), y), (x, y) -> rem(y + signed(rem(x, y)), y)))
function divide_exactly(id::Int32, @nospecialize(f), @nospecialize(x), @nospecialize(y))
    differ_in_sign(symbol_type(x), symbol_type(y)) || return nothing
    return QUOTIENTS[f][symbol_type(x) <: Signed ? 1 : 2](x, y)
end

# false times NaN or Inf is zero.
function multiply_by_truth(::Int32, @nospecialize(f), @nospecialize(x), @nospecialize(y))
    symbol_type(y) === Bool && ((x, y) = (y, x))
    symbol_type(x) === Bool || return nothing
    symbol_type(y) <: AbstractFloat && return select(x, y, copysign(zero(y), y))
    return symbol_type(y) <: Complex ? select(x, y, zero(y)) : nothing
end

# A power of integers has its base's type.
function integer_power(id::Int32, @nospecialize(f), @nospecialize(x), @nospecialize(y))
    X, Y = symbol_type(x), symbol_type(y)
    return X !== Y && X <: Integer && Y <: Integer ? cast(X, node(id, f, Any[x, y])) : nothing
end

# A shift has the type of what is shifted, whatever its count's; a negative count shifts the other way.
function shift(id::Int32, @nospecialize(f), @nospecialize(x), @nospecialize(n))
    T, N = symbol_type(x), symbol_type(n)
    T === N && return nothing
    T === Bool && return symcall(id, f, Any[cast(Int, x), n])
    T <: Unsigned && N <: Signed || return node(id, f, Any[x, cast(T, count_within(n))])
    back = f === (<<) ? (>>) : (<<)
    distance = cast(T, count_within(abs(n)))
    return select(signbit(n), node(op_id(back, 2), back, Any[x, distance]), node(id, f, Any[x, distance]))
end
# What fits every type, and is as good as all larger counts.
count_within(@nospecialize(n)) = symbol_type(n) <: Signed ? clamp(n, -64, 64) : symbol_type(n) === Bool ? n : min(n, 0x40)

for (rule, functions) in (compare_exactly => (==, !=, <, <=, >, >=), divide_exactly => keys(QUOTIENTS), multiply_by_truth => (*,),
                          integer_power => (^,), shift => (<<, >>)), f in functions
    RULES[op_id(f, 2)] = rule
end
