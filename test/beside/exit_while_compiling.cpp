// Processes that end while NVRTC compiles in lib/cuda/beside.cpp's thread: each must end well. Needs NVRTC, no GPU.
// Without an argument it runs itself with some: milliseconds from the first compilation's begin to the end of main.
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "cuda/beside.h"
#include "cuda/compiler.h"
#include "cuda/nvrtc.h"

using namespace tcu::cuda;

namespace {

void compile_and_end(int milliseconds) {
  do_beside(open_compiler);
  for (int i = 0; i < 3; ++i)
    do_beside([] {
      nvrtc_compile("extern \"C\" __global__ void kernel(float *x) { x[threadIdx.x] = tanhf(x[0]) * powf(x[1], x[2]); }", nvrtc_architecture(9, 0));
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace

int main(int argc, char **argv) {
  if (argc > 1) return compile_and_end(std::atoi(argv[1])), 0;
  if (!nvrtc_available()) return std::printf("skipped: libnvrtc is not here\n"), 77;
  constexpr int kTries = 2, kDelays[] = {0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 130, 160, 200};
  int passed = 0, failed = 0;
  for (int i = 0; i < kTries; ++i)
    for (const int delay : kDelays) {
      const std::string command = "CUDA_CACHE_DISABLE=1 timeout 60 '" + std::string(argv[0]) + "' " + std::to_string(delay);
      const int status = std::system(command.c_str());
      const bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      ++(well ? passed : failed);
      if (!well) std::printf("after %d ms: status %d\n", delay, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
