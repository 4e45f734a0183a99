#include "cuda/scratch.h"

#include <cstdint>

#include "cuda/cuda_error.h"

namespace tcu::cuda {
namespace {
constexpr size_t kSlotBytes = Scratch::kZeroed + Scratch::kRest;
}

ScratchSlots::ScratchSlots() {
  const RelaxedCapture relaxed;
  void *memory = nullptr;
  cudaStream_t own = nullptr;  // not the legacy stream: that would wait for a capture under way
  const bool cleared = cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking) == cudaSuccess &&
                       cudaMalloc(&memory, kSlots * kSlotBytes) == cudaSuccess &&
                       cudaMemsetAsync(memory, 0, kSlots * kSlotBytes, own) == cudaSuccess &&
                       cudaStreamSynchronize(own) == cudaSuccess;
  if (own) cudaStreamDestroy(own);
  if (!cleared) {
    cudaGetLastError();  // a device that is full: it goes without
    cudaFree(memory);
    return;
  }
  memory_ = static_cast<char *>(memory);
}

ScratchSlots::~ScratchSlots() { cudaFree(memory_); }

Scratch ScratchSlots::of(cudaStream_t stream) {
  if (!memory_) return {};
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0, capture = 0;
  if (cudaStreamGetCaptureInfo(stream, &status, &capture) != cudaSuccess) {
    cudaGetLastError();  // the legacy stream, while another stream captures
    return {};
  }
  // A stream that is captured may not be asked for its id. It cannot end before its capture does: its handle is as good.
  if (status == cudaStreamCaptureStatusActive) id = reinterpret_cast<uintptr_t>(stream);
  else if (status != cudaStreamCaptureStatusNone || cudaStreamGetId(stream, &id) != cudaSuccess) return cudaGetLastError(), Scratch{};
  std::lock_guard lock(mutex_);
  const std::pair key{id, capture};
  auto at = slots_.find(key);
  if (at == slots_.end()) {
    if (slots_.size() == kSlots) return {};
    at = slots_.emplace(key, int(slots_.size())).first;
  }
  char *const slot = memory_ + size_t(at->second) * kSlotBytes;
  return {slot, slot + Scratch::kZeroed};
}

}  // namespace tcu::cuda
