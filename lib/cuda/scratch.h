// Scratch (plan/backend.h) of a device's streams.
#pragma once
#include <cuda_runtime.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "plan/backend.h"

namespace tcu::cuda {

// A slot for every stream that asks, and one for every capture of a stream: what a graph holds of one stream runs one after
// another, but may run beside what is queued on that stream later. The small slots, of what nearly every call needs, are there from the
// beginning; a larger one is made when a stream first asks for so much. Slots are never given back; when all are taken, or large ones have
// kLargest bytes together, the planner goes on without (an allocation and a clearing of memory more for each call).
class ScratchSlots {
 public:
  ScratchSlots();  // on the current device, as what follows
  ~ScratchSlots();
  ScratchSlots(const ScratchSlots &) = delete;
  ScratchSlots &operator=(const ScratchSlots &) = delete;

  // Null: there is none for this stream.
  Scratch of(cudaStream_t stream, size_t zeroed, size_t rest);

 private:
  using Key = std::pair<unsigned long long, unsigned long long>;  // a stream and its capture, 0 outside one
  struct Slot {
    char *memory = nullptr;
    size_t zeroed = 0, rest = 0;
    bool holds(size_t zeroed_bytes, size_t rest_bytes) const { return memory && zeroed_bytes <= zeroed && rest_bytes <= rest; }
    Scratch scratch() const { return {memory, memory + zeroed}; }
  };
  static constexpr int kSmall = 128;  // slots
  static constexpr size_t kZeroed = (64 << 10) + 256, kRest = 128 << 10, kLargest = 256 << 20;
  char *cleared(size_t bytes);  // null: the device is full

  std::vector<void *> memory_;  // of all slots, outgrown ones too: what was queued may use them still
  char *small_memory_;
  std::map<Key, Slot> small_, large_;
  size_t large_bytes_ = 0;
  std::mutex mutex_;
};

}  // namespace tcu::cuda
