// Tests that need a GPU run only when asked to (TCUOPS_TEST_GPU=1, as ./run test --gpu sets it); then a missing GPU fails.
#include <cstdlib>

const char *skip_reason();

const char *skip_reason() {
  const char *wanted = std::getenv("TCUOPS_TEST_GPU");
  return wanted && *wanted && *wanted != '0' ? nullptr : "needs an NVIDIA GPU and ./run test --gpu";
}
