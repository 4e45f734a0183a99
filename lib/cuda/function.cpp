#include "cuda/function.h"

#include "cuda/cuda_error.h"

namespace tcu::cuda {

namespace {
int driver_version() {
  static const int version = [] {
    int v = 0;
    return cudaDriverGetVersion(&v) == cudaSuccess ? v : 0;
  }();
  return version;
}
}  // namespace

Function resolve(const Instance &f, int ordinal, int shared_bytes) {
  const OnDevice guard(ordinal);
  Function resolved;
  resolved.ordinal = ordinal;
  resolved.handle = shipped(name_of(f));
  if (!resolved.handle) {
    resolved.handle = compile(f, ordinal);
    resolved.compiled = true;
  }
  const RelaxedCapture relaxed;  // the runtime may load the function's code now
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, resolved.handle), "loading a kernel");
  resolved.in_turn = attributes.ptxVersion >= 90 && driver_version() >= 12030;  // before 12.3 such a launch cannot be captured
  if (shared_bytes > 0) {  // more than 48 KiB has to be allowed; as much as there is, for plans of one function may differ
    int most = 0;
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal), "asking for a block's shared memory");
    check(cudaFuncSetAttribute(resolved.handle, cudaFuncAttributeMaxDynamicSharedMemorySize, most - int(attributes.sharedSizeBytes)),
          "asking for shared memory");
  }
  return resolved;
}

}  // namespace tcu::cuda
