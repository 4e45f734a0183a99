// Scratch (plan/backend.h) of a device's streams.
#pragma once
#include <cuda_runtime.h>

#include <map>
#include <mutex>
#include <utility>

#include "plan/backend.h"

namespace tcu::cuda {

// A slot for every stream that asks, and one for every capture of a stream: what a graph holds of one stream runs one after
// another, but may run beside what is queued on that stream later. Slots are never given back; when all are taken the planner
// goes on without (a clearing of memory more for each call).
class ScratchSlots {
 public:
  ScratchSlots();  // on the current device
  ~ScratchSlots();
  ScratchSlots(const ScratchSlots &) = delete;
  ScratchSlots &operator=(const ScratchSlots &) = delete;

  Scratch of(cudaStream_t stream, size_t zeroed);

 private:
  using Key = std::pair<unsigned long long, unsigned long long>;  // a stream and its capture, 0 outside one
  struct Slots {
    size_t zeroed, rest;
    int count;
    char *memory = nullptr;
    std::map<Key, int> taken{};
  };
  Slots small_{Scratch::kZeroed, Scratch::kRest, 128}, large_{Scratch::kLargeZeroed, 0, 8};
  char *memory_ = nullptr;  // of both
  std::mutex mutex_;
};

}  // namespace tcu::cuda
