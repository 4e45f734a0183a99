# A two-layer network with batch normalization and softmax cross-entropy, forward and backward, in TCUArrays.
#
# The 256 hidden units are 16 channels of 4×4, as a convolution's would be, so that the normalization's statistics are sums
# over modes 1, 2 and 4 of a 4-D array, with the channels in between. Gradients are not stored: each sum and each product
# is accumulated into its velocity by beta, v = momentum * v + gradient.

const CHANNELS, PIXELS, CLASSES = 16, 64, 10
const HIDDEN = (4, 4, CHANNELS)

struct Layer{A}
    value::A
    velocity::A
end
Layer(value::Array) = Layer(TCUArray(value), fill!(TCUArray(value), 0))

struct Network
    weight1::Layer     # hidden × pixels
    scale::Layer       # 1 × 1 × channels × 1
    shift::Layer
    weight2::Layer     # classes × hidden
    bias2::Layer       # classes × 1
    running_mean::TCUArray{Float32,4}
    running_variance::TCUArray{Float32,4}
end

function Network(rng)
    hidden = prod(HIDDEN)
    per_channel(v) = fill(Float32(v), 1, 1, CHANNELS, 1)
    return Network(Layer(randn(rng, Float32, hidden, PIXELS) .* Float32(sqrt(2 / PIXELS))),
                   Layer(per_channel(1)), Layer(per_channel(0)),
                   Layer(randn(rng, Float32, CLASSES, hidden) .* Float32(sqrt(1 / hidden))),
                   Layer(zeros(Float32, CLASSES, 1)),
                   TCUArray(per_channel(0)), TCUArray(per_channel(1)))
end

const EPSILON = 1f-5

"Log-probabilities from scores (classes × N), by a log-sum-exp that cannot overflow."
function log_softmax(scores)
    top = maximum(scores; dims = 1)
    log_sum = log.(sum(exp, lazy.(scores .- top); dims = 1))
    return scores .- top .- log_sum
end

function hidden_layer(net::Network, images)
    pixels = reshape(images, PIXELS, :)
    return reshape(net.weight1.value * pixels, HIDDEN..., :)
end

function output_layer(net::Network, normalized)
    active = relu.(net.scale.value .* normalized .+ net.shift.value)
    scores = net.weight2.value * reshape(active, prod(HIDDEN), :) .+ net.bias2.value
    return active, log_softmax(scores)
end

"Log-probabilities with the statistics gathered in training."
function predict(net::Network, images)
    before = hidden_layer(net, images)
    normalized = (before .- net.running_mean) ./ sqrt.(net.running_variance .+ EPSILON)
    return output_layer(net, normalized)[2]
end

"One step of stochastic gradient descent with momentum; the mean loss of the batch."
function train_step!(net::Network, images, targets, rate, momentum)
    N = size(targets, 2)
    # forward
    before = hidden_layer(net, images)
    center = mean(before; dims = (1, 2, 4))
    variance = mean(abs2, lazy.(before .- center); dims = (1, 2, 4))
    inverse_deviation = rsqrt.(variance .+ EPSILON)
    normalized = (before .- center) .* inverse_deviation
    active, log_probabilities = output_layer(net, normalized)
    loss = -sum(lazy.(targets .* log_probabilities)) / N
    net.running_mean .= 0.9f0 .* net.running_mean .+ 0.1f0 .* center
    net.running_variance .= 0.9f0 .* net.running_variance .+ 0.1f0 .* variance

    # backward: the loss is a mean over the batch, hence 1 / N
    d_scores = (exp.(log_probabilities) .- targets) ./ Float32(N)
    d_active = reshape(transpose(net.weight2.value) * d_scores, HIDDEN..., :)
    d_shifted = relu_grad.(d_active, active)
    count = Float32(length(before) ÷ CHANNELS)
    d_shift = sum(d_shifted; dims = (1, 2, 4))
    d_scale = sum(lazy.(d_shifted .* normalized); dims = (1, 2, 4))
    d_before = net.scale.value .* inverse_deviation .* (d_shifted .- d_shift ./ count .- normalized .* (d_scale ./ count))

    mul!(net.weight2.velocity, d_scores, transpose(reshape(active, prod(HIDDEN), :)), 1, momentum)
    TCUOps.sum!(net.bias2.velocity, d_scores; beta = momentum)
    TCUOps.sum!(*, net.scale.velocity, d_shifted, normalized; beta = momentum)
    TCUOps.sum!(net.shift.velocity, d_shifted; beta = momentum)
    mul!(net.weight1.velocity, reshape(d_before, prod(HIDDEN), :), transpose(reshape(images, PIXELS, :)), 1, momentum)
    for layer in (net.weight1, net.scale, net.shift, net.weight2, net.bias2)
        layer.value .-= rate .* layer.velocity
    end
    return loss
end
