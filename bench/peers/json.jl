# Just enough JSON for bench/peers/base.jl, which may use no packages: reads everything, writes one row a line.

module TinyJSON

struct Text
    bytes::Vector{UInt8}
end

function skip_space(t, i)
    while i <= length(t.bytes) && t.bytes[i] in (0x20, 0x09, 0x0a, 0x0d)
        i += 1
    end
    return i
end

parse(s::AbstractString) = value(Text(Vector{UInt8}(codeunits(s))), 1)[1]

# Each of these takes the position of its first byte and returns the value and the position after it.
function value(t, i)
    i = skip_space(t, i)
    c = Char(t.bytes[i])
    c == '{' && return object(t, i)
    c == '[' && return list(t, i)
    c == '"' && return string_at(t, i)
    for (word, v) in (("true", true), ("false", false), ("null", nothing))
        n = ncodeunits(word)
        i + n - 1 <= length(t.bytes) && t.bytes[i:i+n-1] == codeunits(word) && return v, i + n
    end
    return number(t, i)
end

function number(t, i)
    j = i
    while j <= length(t.bytes) && Char(t.bytes[j]) in "+-.eE0123456789"
        j += 1
    end
    text = String(t.bytes[i:j-1])
    v = tryparse(Int, text)
    return (v === nothing ? Base.parse(Float64, text) : v), j
end

function string_at(t, i)
    out, i = UInt8[], i + 1
    while t.bytes[i] != UInt8('"')
        if t.bytes[i] == UInt8('\\')
            i += 1
            t.bytes[i] == UInt8('u') && error("\\u is not read here")
            push!(out, get(Dict(UInt8('n') => 0x0a, UInt8('t') => 0x09), t.bytes[i], t.bytes[i]))
        else
            push!(out, t.bytes[i])
        end
        i += 1
    end
    return String(out), i + 1
end

function list(t, i)
    out = Any[]
    i = skip_space(t, i + 1)
    while t.bytes[i] != UInt8(']')
        v, i = value(t, i)
        push!(out, v)
        i = skip_space(t, i)
        t.bytes[i] == UInt8(',') && (i = skip_space(t, i + 1))
    end
    return out, i + 1
end

function object(t, i)
    out = Dict{String,Any}()
    i = skip_space(t, i + 1)
    while t.bytes[i] != UInt8('}')
        key, i = string_at(t, i)
        i = skip_space(t, i) + 1  # the colon
        out[key], i = value(t, i)
        i = skip_space(t, i)
        t.bytes[i] == UInt8(',') && (i = skip_space(t, i + 1))
    end
    return out, i + 1
end

write(v::Nothing) = "null"
write(v::Union{Bool,Integer}) = string(v)
write(v::Real) = isfinite(v) ? string(Float64(v)) : "null"
write(v::AbstractString) = "\"" * replace(replace(replace(v, "\\" => "\\\\"), "\"" => "\\\""), "\n" => "\\n") * "\""
write(v::AbstractVector) = "[" * join(write.(v), ", ") * "]"
write(pairs::AbstractVector{<:Pair}) = "{" * join((write(k) * ": " * write(v) for (k, v) in pairs), ", ") * "}"

end
