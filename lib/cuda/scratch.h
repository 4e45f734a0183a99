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

  Scratch of(cudaStream_t stream);

 private:
  static constexpr int kSlots = 128;
  char *memory_ = nullptr;
  std::mutex mutex_;
  std::map<std::pair<unsigned long long, unsigned long long>, int> slots_;  // by stream and capture, 0 outside one
};

}  // namespace tcu::cuda
