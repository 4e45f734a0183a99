// What the emulator's tests share: device buffers, one-line launches.
#pragma once
#include <cuda_runtime.h>

#include <vector>

#include "catch.h"

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) { REQUIRE(cudaMalloc(&data_, count * sizeof(T)) == cudaSuccess); }
  explicit DeviceArray(const std::vector<T> &host) : DeviceArray(host.size()) {
    REQUIRE(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;

  T *data() { return data_; }
  void fill(int byte) { REQUIRE(cudaMemset(data_, byte, count_ * sizeof(T)) == cudaSuccess); }
  std::vector<T> host() const {
    std::vector<T> result(count_);
    REQUIRE(cudaMemcpy(result.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
    return result;
  }

 private:
  T *data_ = nullptr;
  std::size_t count_;
};

template <auto Kernel, class Params>
cudaError_t launch(dim3 grid, dim3 block, Params params, std::size_t shared = 0) {
  void *args[] = {&params};
  return cudaLaunchKernel(tcu::cuda::kernel_address<Kernel>(), grid, block, args, shared, nullptr);
}
