# The package against Base: the same closure runs on Arrays and on TCUArrays, and the results are compared.
#
#   TCUOPS_TEST_DEVICE=cpu|cuda|hosted julia --project=. julia/test/runtests.jl
#
# "hosted" is the CPU backend taken for a GPU: it runs what the package does on a device whose memory is not the host's
# (allocation, copies, finalizers, refusals) on a machine that has none.
#
# Ends with "N passed, N failed"; the exit code is 1 if any failed.

using LinearAlgebra, Random, Statistics, Test
using TCUOps
using TCUOps: BFloat16, Float8E4M3, Float8E5M2

const ASKED = Symbol(get(ENV, "TCUOPS_TEST_DEVICE", "cpu"))
const DEVICE = ASKED === :hosted ? :cuda : ASKED
if ASKED === :hosted
    TCUOps.CONTEXTS[(:cuda, 0)] = TCUOps.Context(TCUOps.context(:cpu).handle, :cuda, 0)
end
TCUOps.device!(DEVICE)
Random.seed!(1)

include("compare.jl")

const FILES = ["recording", "arrays", "broadcast", "ops", "reduce", "several", "scan", "linalg", "plain", "errors", "short_floats", "edges"]
const CHOSEN = isempty(ARGS) ? FILES : ARGS

# Counts of a finished test set. Its fields are the same from Julia 1.5 on.
function counts(set::Test.DefaultTestSet)
    passed, failed = set.n_passed, 0
    for result in set.results
        if result isa Test.DefaultTestSet
            p, f = counts(result)
            passed, failed = passed + p, failed + f
        elseif result isa Union{Test.Fail,Test.Error}
            failed += 1
        elseif result isa Test.Pass
            passed += 1
        end
    end
    return passed, failed
end

const SETS = Test.DefaultTestSet[]
Test.push_testset(Test.DefaultTestSet("TCUOps on $ASKED"))
for file in CHOSEN
    push!(SETS, @testset "$file" begin
        include("$file.jl")
    end)
end
outer = Test.pop_testset()
Test.print_test_results(outer)
passed, failed = counts(outer)
println(passed, " passed, ", failed, " failed")
exit(failed == 0 ? 0 : 1)
