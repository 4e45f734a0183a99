// Random expressions, each compiled for itself, on the kernel that the planner chooses, and off their tapes.
#include "expressions.h"
#include "problems.h"

TEST_CASE("cuda: 2,000 random expressions over random strided operands", "[cuda][jit]") {
  NEEDS_CUDA();
  support::Rng rng(20261123);
  const int n = problems::repeats(api::emulated() ? 40 : 2000);  // on the emulator each takes half a second to compile
  int off_tape = 0;
  for (int i = 0; i < n; ++i) off_tape += expressions::check_one(rng, problems::context(), i % 4 == 0 ? 5000 : 700, "broadcast.tape");
  INFO(off_tape << " of " << n << " off their tapes");
  CHECK(off_tape * 10 >= n * 9);
}
