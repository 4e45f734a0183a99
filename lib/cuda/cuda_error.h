// CUDA runtime statuses as errors of the library, and the guards that every entry into lib/cuda uses.
#pragma once
#include <cuda_runtime.h>

namespace tcu::cuda {

// Fails with Code::out_of_memory, device or cuda; `doing` completes "cuda: ... while <doing>".
[[noreturn]] void fail_cuda(cudaError_t error, const char *doing);
inline void check(cudaError_t error, const char *doing) {
  if (error != cudaSuccess) [[unlikely]] fail_cuda(error, doing);
}

// Makes a device current for a scope. A few ns when it already is; the caller's device is put back.
class OnDevice {
 public:
  explicit OnDevice(int ordinal);
  ~OnDevice();
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;

 private:
  int previous_ = -1;  // -1: nothing to put back
};

// Lets this thread do what a graph capture elsewhere would forbid (load code, make a cuBLAS handle) for a scope.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;

 private:
  int mode_ = 0;
};

bool is_capturing(cudaStream_t stream);

}  // namespace tcu::cuda
