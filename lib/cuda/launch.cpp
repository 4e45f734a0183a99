#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "cuda/cuda_error.h"
#include "cuda/function.h"

namespace tcu::cuda {

namespace {

// A kernel's own and what is asked for at its launch may be more than 48 KiB together only once that is allowed, per function
// and device.
void allow_shared(const Function &f, int bytes) {
  static std::mutex mutex;
  static auto &allowed = *new std::map<std::pair<const void *, int>, int>;  // outlives every thread that may launch
  std::lock_guard lock(mutex);
  int &most = allowed[{f.handle, f.ordinal}];
  if (most >= bytes) return;
  check(cudaFuncSetAttribute(f.handle, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "asking for shared memory");
  most = bytes;
}

}  // namespace

void launch(const Function &f, const LaunchConfig &config, const void *params, void *stream) {
  if (config.grid < 1 || config.grid > INT32_MAX)
    fail(Code::internal, "a launch of %lld blocks", (long long)config.grid);
  const OnDevice guard(f.ordinal);
  if (config.shared_bytes > 0) allow_shared(f, config.shared_bytes);
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(unsigned(config.grid));
  launch.blockDim = dim3(unsigned(config.block));
  launch.dynamicSmemBytes = size_t(config.shared_bytes);
  launch.stream = static_cast<cudaStream_t>(stream);
  void *arguments[] = {const_cast<void *>(params)};
  check(cudaLaunchKernelExC(&launch, f.handle, arguments), "launching a kernel");
}

}  // namespace tcu::cuda
