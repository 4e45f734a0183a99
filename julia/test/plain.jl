# TCUOps' own names on plain arrays.

let a = randn(6, 5), v = randn(7)
    @test TCUOps.sum(a) ≈ sum(a)
    @test TCUOps.sum(a; dims = 1) ≈ sum(a; dims = 1) && TCUOps.sum(a; dims = 1) isa Matrix{Float64}
    @test TCUOps.sum(abs2, a; dims = 2) ≈ sum(abs2, a; dims = 2)
    @test TCUOps.maximum(a; dims = 1) == maximum(a; dims = 1)
    @test TCUOps.argmax(v) == argmax(v)
    @test TCUOps.findmin(a; dims = 2) == findmin(a; dims = 2)
    @test TCUOps.mean(a; dims = 1) ≈ mean(a; dims = 1)
    @test TCUOps.std(a) ≈ std(a)
    @test TCUOps.norm(a) ≈ norm(a)
    @test logsumexp(v) ≈ log(sum(exp, v)) && logsumexp(a; dims = 1) ≈ log.(sum(exp, a; dims = 1))
    @test logsumexp(a; dims = 2) isa Matrix{Float64}
    @test logsumexp(view(v, 1:3)) ≈ log(sum(exp, v[1:3])) && logsumexp(1:3) ≈ log(sum(exp, 1:3))
    @test TCUOps.cumsum(a; dims = 2) ≈ cumsum(a; dims = 2) && TCUOps.cumsum(a; dims = 2) isa Matrix
    @test TCUOps.accumulate(max, a; dims = 1) == accumulate(max, a; dims = 1)
    @test TCUOps.mapreduce(abs, max, a) == maximum(abs, a)
    @test TCUOps.any(x -> x > 0, a) == any(x -> x > 0, a)
    @test TCUOps.broadcast!(+, zeros(6, 5), a, 1) == a .+ 1
    @test TCUOps.broadcast(+, a, 1) == a .+ 1
    @test TCUOps.sum(TCUArray(a)) ≈ sum(a)
end
