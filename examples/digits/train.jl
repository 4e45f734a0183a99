# Trains a small network on the UCI handwritten digits; every broadcast, reduction and scan of it runs in libtcuops.so.
#
#   julia --project=. examples/digits/train.jl [--device cpu|cuda] [--epochs 30] [--seed 1]
#
# Ends with the number of calls that each kernel of the library served and how many fell outside it; the exit code is 1
# when less than 0.95 of the held-out fifth is recognised.

const STARTED = time()

using TCUOps
using LinearAlgebra: mul!, transpose
using Printf: @printf, @sprintf
using Random: MersenneTwister, randperm
using Statistics: mean
using TCUOps: lazy, relu, relu_grad, rsqrt

include("data.jl")
include("network.jl")

const BATCH, RATE, MOMENTUM = 64, 0.1f0, 0.9f0
const WANTED = 0.95

function options(args)
    chosen = Dict("--device" => "", "--epochs" => "30", "--seed" => "1")
    i = 1
    while i <= length(args)
        if !haskey(chosen, args[i]) || i == length(args)
            println("usage: train.jl [--device cpu|cuda] [--epochs n] [--seed n]")
            exit(args[i] in ("--help", "-h") ? 0 : 2)
        end
        chosen[args[i]] = args[i+1]
        i += 2
    end
    epochs, seed = tryparse(Int, chosen["--epochs"]), tryparse(Int, chosen["--seed"])
    if !(chosen["--device"] in ("", "cpu", "cuda")) || epochs === nothing || seed === nothing || epochs < 1
        println("--device is cpu or cuda; --epochs and --seed are whole numbers")
        exit(2)
    end
    return chosen["--device"], epochs, seed
end

# The device asked for, else a GPU if there is one, else the CPU.
function choose_device(device)
    try
        isempty(device) ? TCUOps.default_context() : TCUOps.device!(Symbol(device))
    catch e
        e isa TCUOps.TCUError || rethrow()
        println(stderr, e.message)
        exit(2)
    end
end

"The share of images whose most probable digit is the right one."
function accuracy(net, images, labels)
    best = argmax(predict(net, images); dims = 1)
    return count(best[n][1] - 1 == labels[n] for n in eachindex(labels)) / length(labels)
end

function show_progress(epoch, epochs, loss, share)
    width = 30
    filled = round(Int, width * epoch / epochs)
    bar = string("█"^filled, "░"^(width - filled))
    line = @sprintf("%s epoch %d/%d  loss %.4f  held-out accuracy %.4f  %.0f s", bar, epoch, epochs, loss, share,
                    time() - STARTED)
    if stdout isa Base.TTY
        print("\r", line, epoch == epochs ? "\n" : "")
    elseif epoch == epochs || epoch % cld(epochs, 10) == 0
        println(line)
    end
    flush(stdout)
end

function main(args)
    device, epochs, seed = options(args)
    choose_device(device)
    rng = MersenneTwister(seed)
    train, held_out = split_digits(read_digits(), rng)
    println("device ", TCUOps.device(), ": ", length(train), " images to learn from, ", length(held_out), " held out")

    # The pixels' own mean and deviation, over modes 1, 2 and 4.
    all = TCUArray(train.images)
    center, deviation = mean(all; dims = (1, 2, 4)), std_over(all, (1, 2, 4))
    normalize(images) = (TCUArray(images) .- center) ./ deviation
    held_out_images = normalize(held_out.images)
    net = Network(rng)
    steps, done, share = epochs * (length(train) ÷ BATCH), 0, 0.0
    for epoch in 1:epochs
        shuffled = train[randperm(rng, length(train))]
        images, targets = normalize(shuffled.images), TCUArray(one_hot(shuffled.labels))
        losses = map(1:BATCH:length(train)-BATCH+1) do first
            batch = first:first+BATCH-1
            rate = RATE * Float32(1 + cospi(done / steps)) / 2
            done += 1
            train_step!(net, view(images, :, :, :, batch), view(targets, :, batch), rate, MOMENTUM)
        end
        share = accuracy(net, held_out_images, held_out.labels)
        show_progress(epoch, epochs, mean(losses), share)
    end

    println()
    TCUOps.print_calls()
    @printf("\n%.4f of the held-out fifth recognised (%.2f wanted) in %.1f s\n", share, WANTED, time() - STARTED)
    return share >= WANTED ? 0 : 1
end

std_over(x, dims) = sqrt.(mean(abs2, lazy.(x .- mean(x; dims = dims)); dims = dims))

exit(main(ARGS))
