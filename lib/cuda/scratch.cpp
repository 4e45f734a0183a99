#include "cuda/scratch.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cuda/cuda_error.h"

namespace tcu::cuda {

ScratchSlots::ScratchSlots() : small_memory_(cleared(kSmall * (kZeroed + kRest))) {}

ScratchSlots::~ScratchSlots() {
  for (void *memory : memory_) cudaFree(memory);
}

char *ScratchSlots::cleared(size_t bytes) {
  const RelaxedCapture relaxed;
  void *memory = nullptr;
  cudaStream_t own = nullptr;  // not the legacy stream: that would wait for a capture under way
  const bool done = cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking) == cudaSuccess && cudaMalloc(&memory, bytes) == cudaSuccess &&
                    cudaMemsetAsync(memory, 0, bytes, own) == cudaSuccess && cudaStreamSynchronize(own) == cudaSuccess;
  if (own) cudaStreamDestroy(own);
  if (!done) {
    cudaGetLastError();  // it goes without
    cudaFree(memory);
    return nullptr;
  }
  memory_.push_back(memory);
  return static_cast<char *>(memory);
}

Scratch ScratchSlots::of(cudaStream_t stream, size_t zeroed, size_t rest) {
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
  if (zeroed > kZeroed || rest > kRest) {
    const Slot *const slot = large(key, zeroed, rest);
    if (slot) return slot->scratch();
    if (zeroed > kZeroed) return {};
  }
  const Slot *const slot = small(key);
  if (!slot) return {};
  return {slot->memory, rest <= kRest ? slot->scratch().rest : nullptr};
}

const ScratchSlots::Slot *ScratchSlots::small(const Key &key) {
  if (const auto at = small_.find(key); at != small_.end()) return &at->second;
  if (!small_memory_ || small_.size() == kSmall) return nullptr;
  return &small_.emplace(key, Slot{small_memory_ + small_.size() * (kZeroed + kRest), kZeroed, kRest}).first->second;
}

const ScratchSlots::Slot *ScratchSlots::large(const Key &key, size_t zeroed, size_t rest) {
  Slot &slot = large_[key];
  if (slot.holds(zeroed, rest)) return &slot;
  const Slot larger{nullptr, std::max(slot.zeroed, std::bit_ceil(std::max<size_t>(zeroed, 256))), std::max(slot.rest, std::bit_ceil(rest))};
  const size_t bytes = larger.zeroed + larger.rest;
  if (bytes > large_left_) return nullptr;
  char *const memory = cleared(bytes);
  if (!memory) return large_left_ = 0, nullptr;  // the device is full: it is not asked at every call
  large_left_ -= bytes;
  slot = larger, slot.memory = memory;
  return &slot;
}

}  // namespace tcu::cuda
