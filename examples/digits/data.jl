# The UCI handwritten digits, split with a seed.

struct Digits
    images::Array{Float32,4}   # 8 × 8 × 1 × N, scaled to 0..1; dimension 1 runs along a row of pixels
    labels::Vector{Int}        # 0..9
end

Base.length(d::Digits) = length(d.labels)
Base.getindex(d::Digits, which::AbstractVector) = Digits(d.images[:, :, :, which], d.labels[which])

function read_digits(file = joinpath(@__DIR__, "digits.csv.gz"))
    rows = [parse.(Int, split(line, ',')) for line in eachline(`gzip -dc $file`)]
    pixels = reduce(hcat, (row[1:64] for row in rows))
    return Digits(reshape(Float32.(pixels) ./ 16, 8, 8, 1, length(rows)), [row[65] for row in rows])
end

"The training part and the held-out fifth."
function split_digits(all::Digits, rng)
    order = randperm(rng, length(all))
    held_out = length(all) ÷ 5
    return all[order[held_out+1:end]], all[order[1:held_out]]
end

one_hot(labels) = Float32[label == digit for digit in 0:9, label in labels]
