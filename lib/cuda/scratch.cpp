#include "cuda/scratch.h"

#include <cstdint>

#include "cuda/cuda_error.h"

namespace tcu::cuda {

ScratchSlots::ScratchSlots() {
  const RelaxedCapture relaxed;
  const size_t small = small_.count * (small_.zeroed + small_.rest), bytes = small + large_.count * (large_.zeroed + large_.rest);
  void *memory = nullptr;
  cudaStream_t own = nullptr;  // not the legacy stream: that would wait for a capture under way
  const bool cleared = cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking) == cudaSuccess &&
                       cudaMalloc(&memory, bytes) == cudaSuccess && cudaMemsetAsync(memory, 0, bytes, own) == cudaSuccess &&
                       cudaStreamSynchronize(own) == cudaSuccess;
  if (own) cudaStreamDestroy(own);
  if (!cleared) {
    cudaGetLastError();  // a device that is full: it goes without
    cudaFree(memory);
    return;
  }
  memory_ = small_.memory = static_cast<char *>(memory);
  large_.memory = memory_ + small;
}

ScratchSlots::~ScratchSlots() { cudaFree(memory_); }

Scratch ScratchSlots::of(cudaStream_t stream, size_t zeroed) {
  Slots &slots = zeroed <= small_.zeroed ? small_ : large_;
  if (!slots.memory || zeroed > slots.zeroed) return {};
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
  const Key key{id, capture};
  auto at = slots.taken.find(key);
  if (at == slots.taken.end()) {
    if (int(slots.taken.size()) == slots.count) return {};
    at = slots.taken.emplace(key, int(slots.taken.size())).first;
  }
  char *const slot = slots.memory + size_t(at->second) * (slots.zeroed + slots.rest);
  return {slot, slots.rest ? slot + slots.zeroed : nullptr};
}

}  // namespace tcu::cuda
