# Julia's Base on the cases (and Statistics, which comes with it), results written into arrays that are there already. No packages;
# Julia 1.5 or newer.
#   julia --startup-file=no bench/peers/base.jl [--cases FILE] [--out FILE] [--group G] [--case NAME] [--dtype D]
#                                               [--budget SECONDS] [--quick]
using Statistics
include("json.jl")

const START = time()
const CACHE_BYTES = 32 << 20  # as in runner/library.h
const DTYPES = Dict("bool" => Bool, "i8" => Int8, "i16" => Int16, "i32" => Int32, "i64" => Int64, "u8" => UInt8,
                    "f16" => Float16, "f32" => Float32, "f64" => Float64)

function arguments()
    o = Dict{String,Any}("cases" => "bench/cases.json", "out" => "", "group" => String[], "case" => String[],
                         "dtype" => String[], "family" => String[], "budget" => Inf, "quick" => false)
    i = 1
    while i <= length(ARGS)
        key = replace(ARGS[i], r"^--" => "")
        haskey(o, key) || error("unknown argument $(ARGS[i])")
        if key == "quick"
            o[key] = true
        else
            i += 1
            o[key] isa Vector ? push!(o[key], ARGS[i]) : (o[key] = key == "budget" ? parse(Float64, ARGS[i]) : ARGS[i])
        end
        i += 1
    end
    return o
end

is_selected(c, o) = !haskey(c, "data") && (isempty(o["group"]) || !isempty(intersect(o["group"], c["groups"]))) &&
                    (isempty(o["case"]) || any(n -> occursin(n, c["case"]), o["case"])) &&
                    (isempty(o["dtype"]) || c["dtype"] in o["dtype"]) &&
                    (isempty(o["family"]) || c["family"] in o["family"])

random(::Type{T}, shape) where {T<:AbstractFloat} = T.(2 .* rand(T == Float64 ? Float64 : Float32, shape...) .- 1)
random(::Type{T}, shape) where {T<:Signed} = rand(T(-100):T(100), shape...)
random(::Type{T}, shape) where {T} = rand(T, shape...)

# The inner expression as a broadcast: "tanh(a*b+c)" -> (out, a, b, c) -> @. out = tanh(a*b+c)
function mapper(inner, n)
    names = [Symbol('a' + k) for k in 0:n-1]
    body = Meta.parse("@. out = " * inner)
    return eval(:((out, $(names...)) -> $body))
end

# f(x, dims). In Float16 sums would overflow, and means drift.
function logsumexp(x, dims)
    most = maximum(x; dims=dims)
    return most .+ log.(sum(exp.(x .- most); dims=dims))
end
wide(x) = eltype(x) == Float16 ? Float32.(x) : x
const STATISTICS = Dict("mean" => (x, dims) -> mean(wide(x); dims=dims), "var" => (x, dims) -> var(wide(x); dims=dims),
                        "std" => (x, dims) -> std(wide(x); dims=dims),
                        "norm" => (x, dims) -> sqrt.(sum(abs2, wide(x); dims=dims)),
                        "logsumexp" => (x, dims) -> logsumexp(wide(x), dims))

# The ways in which a user of Base would write the case; the fastest counts. Each takes (out, inputs...).
function ways(c, n)
    outer = c["family"] == "broadcast" ? nothing : match(r"^(\w+)\((.*)\)$", c["expr"])
    outer === nothing && return [".=" => mapper(c["expr"], n)]
    fold, inner, dims = outer[1], outer[2], Tuple(Int.(c["dims"]))
    f = inner == "a" ? identity : inner == "abs2(a)" ? abs2 : nothing
    f === nothing && return Pair[]
    if fold == "cumsum"
        f === identity || return Pair[]
        return length(c["shape"]) == 1 ? ["cumsum!" => (out, a) -> cumsum!(out, a)] :
               ["cumsum!" => (out, a) -> cumsum!(out, a; dims=dims[1])]
    end
    if haskey(STATISTICS, fold)
        f === identity || return Pair[]
        statistic = STATISTICS[fold]
        return Pair[fold => (out, a) -> statistic(a, dims)]
    end
    folds = Dict("sum" => (sum, sum!), "max" => (maximum, maximum!), "min" => (minimum, minimum!))
    haskey(folds, fold) || return Pair[]
    new, into = folds[fold]
    list = Pair["$(nameof(into))" => (out, a) -> into(f, out, a)]
    if length(dims) == length(c["shape"])
        push!(list, "$(nameof(new))(x)" => (out, a) -> (out[1] = new(f, a); out))
    else
        push!(list, "$(nameof(new))(x; dims)" => (out, a) -> new(f, a; dims=dims))
    end
    return list
end

# Microseconds a call; a function barrier, so that f is compiled for what it gets.
function samples(f::F, outs, sets, quick) where {F}
    n_sets = length(sets)
    function batch(first, n)
        start = time_ns()
        for k in first:first+n-1
            s = k % n_sets + 1
            f(outs[s], sets[s]...)
        end
        return (time_ns() - start) / 1000 / n
    end
    batch(0, 1)
    us = min(batch(1, 1), batch(2, 1))
    n = clamp(ceil(Int, 2000 / us), 1, 10000)
    count = clamp(floor(Int, (quick ? 0.4e6 : 1.5e6) / (us * n)), 3, 31)
    return [batch(3 + s * n, n) for s in 0:count-1]
end

# ||out - ref|| / ||ref||, against Base in float64; as in runner/check.cpp.
function compare(c, out, inputs)
    outer = c["family"] == "broadcast" ? nothing : match(r"^(\w+)\((.*)\)$", c["expr"])
    wide = [Float64.(x) for x in inputs]
    if outer === nothing
        ref = Base.invokelatest(mapper(c["expr"], length(inputs)), similar(out, Float64), wide...)
    elseif outer[1] == "cumsum"
        ref = length(c["shape"]) == 1 ? cumsum(wide[1]) : cumsum(wide[1]; dims=Int(c["dims"][1]))
    elseif haskey(STATISTICS, outer[1])
        ref = STATISTICS[outer[1]](wide[1], Tuple(Int.(c["dims"])))
    else
        new = Dict("sum" => sum, "max" => maximum, "min" => minimum)[outer[1]]
        ref = new(outer[2] == "a" ? identity : abs2, wide[1]; dims=Tuple(Int.(c["dims"])))
    end
    scale = outer === nothing ? 0.0 : outer[1] == "sum" ? sum(abs2, wide[1]) :
            outer[1] == "mean" ? sum(abs2, wide[1]) * (length(ref) / length(wide[1]))^2 : 0.0
    norm = max(sum(abs2, ref), scale)
    return sqrt(sum(abs2, Float64.(out) .- ref) / norm)
end

function run_case(c, quick)
    T, O = DTYPES[c["dtype"]], DTYPES[get(c, "out", c["dtype"])]
    shapes = [Tuple(Int.(s)) for s in c["inputs"]]
    is_fold = c["family"] in ("reduce", "segmented_reduce", "gemv")
    out_shape = Tuple(is_fold && d in c["dims"] ? 1 : Int(e) for (d, e) in enumerate(c["shape"]))
    bytes = sum(prod, shapes) * sizeof(T) + prod(out_shape) * sizeof(O)
    n_sets = clamp(cld(4 * CACHE_BYTES, bytes), 1, 4096)
    sets = [Tuple(random(T, s) for s in shapes) for _ in 1:n_sets]
    outs = [Array{O}(undef, out_shape) for _ in 1:n_sets]
    row = Pair{String,Any}["family" => c["family"], "case" => c["case"], "shape" => c["shape"], "dims" => c["dims"],
                           "dtype" => c["dtype"], "expr" => c["expr"], "who" => "base", "bytes" => bytes,
                           "host_us" => nothing, "joule" => nothing, "method" => "wall"]
    best = nothing
    for (label, f) in ways(c, length(shapes))
        result = Base.invokelatest(f, outs[1], sets[1]...)
        error = Base.invokelatest(compare, c, result, sets[1])
        t = sort(Base.invokelatest(samples, f, outs, sets, quick))
        at(q) = t[min(length(t), floor(Int, q * length(t)) + 1)]
        if best === nothing || at(0.5) < best[1]
            best = (at(0.5), t[1], (at(0.75) - at(0.25)) / at(0.5), label, error)
        end
    end
    best === nothing && return nothing
    append!(row, ["us" => best[1], "us_min" => best[2], "us_spread" => best[3], "kernel" => best[4],
                  "correct" => best[5] < (T == Float64 ? 1e-9 : T == Float32 ? 1e-3 : 5e-2), "error" => best[5]])
    return row
end

function main()
    o = arguments()
    out = isempty(o["out"]) ? stdout : open(o["out"], "w")
    println(out, TinyJSON.write(["meta" => "base", "value" => "Julia $VERSION"]))
    for c in TinyJSON.parse(read(o["cases"], String))["cases"]
        is_selected(c, o) || continue
        (all(s -> s isa Vector, c["inputs"]) && haskey(DTYPES, c["dtype"])) || continue
        if time() - START > o["budget"]
            println(out, TinyJSON.write(["meta" => "left out", "value" => "base: the time budget was spent"]))
            break
        end
        row = run_case(c, o["quick"])
        row === nothing && continue
        println(out, TinyJSON.write(row))
        flush(out)
        d = Dict(row)
        println(stderr, rpad("base", 9), rpad(c["case"], 29), rpad(c["dtype"], 6), rpad(c["expr"], 15),
                lpad(round(d["us"]; digits=1), 10), " us ",
                lpad(round(d["bytes"] / d["us"] / 1e3; digits=1), 8), " GB/s ", d["correct"] ? "" : "WRONG")
        GC.gc()
    end
end

main()
