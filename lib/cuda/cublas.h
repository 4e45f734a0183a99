// Matrix products by cuBLAS, opened when the first one is asked for.
#pragma once
#include <mutex>

#include "plan/backend.h"

namespace tcu::cuda {

// A cuBLAS handle on one device. Needs no CUDA header. Thread-safe.
class Cublas {
 public:
  Cublas() = default;
  ~Cublas();
  Cublas(const Cublas &) = delete;
  Cublas &operator=(const Cublas &) = delete;

  // The device must be current. Scratch is `workspace`, so that nothing is allocated behind a graph capture's back.
  // Sums of 16-bit products are kept in float32; float32 products are not rounded to tf32.
  void matmul(const Backend::Matmul &m, void *stream, void *workspace, size_t workspace_bytes);
  // cuBLAS's own recommendation: 32 MiB from Hopper on.
  static size_t workspace_bytes(const Device &device) { return size_t(device.major >= 9 ? 32 : 4) << 20; }

 private:
  std::mutex mutex_;
  void *handle_ = nullptr;
};

}  // namespace tcu::cuda
