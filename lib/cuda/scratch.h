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
// beginning; a larger one is made when a stream first asks for so much. Slots are never given back; when all are taken, large ones have
// kLarge bytes together or the device has been full once, calls allocate for themselves: what a small slot has not, or all.
class ScratchSlots {
 public:
  ScratchSlots();  // on the current device, as what follows
  ~ScratchSlots();
  ScratchSlots(const ScratchSlots &) = delete;
  ScratchSlots &operator=(const ScratchSlots &) = delete;

  // At least so many bytes of either; null for what this stream is not given.
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
  static constexpr size_t kZeroed = (64 << 10) + 256, kRest = 128 << 10, kLarge = 256 << 20;
  char *cleared(size_t bytes);  // null: the device is full
  const Slot *small(const Key &);  // null: all are taken
  const Slot *large(const Key &, size_t zeroed, size_t rest);

  std::vector<void *> memory_;  // of all slots, outgrown ones too: what was queued may use them still
  char *small_memory_;
  std::map<Key, Slot> small_, large_;
  size_t large_left_ = kLarge;
  std::mutex mutex_;
};

}  // namespace tcu::cuda
