// Random expressions on the CPU backend, or the one that TCUOPS_TEST_BACKEND names.
#include "capi/api.h"
#include "expressions.h"

TEST_CASE("expr: 2,000 random expressions over random strided operands") {
  support::Rng rng(20261123);
  for (int i = 0; i < 2000; ++i) expressions::check_one(rng, api::context(), 700);
}
