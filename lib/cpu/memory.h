// Host memory for the CPU backend: 64-byte aligned blocks, of which released ones are kept for the next request of their
// size. An array that is made and dropped by every broadcast is then written to pages that are already mapped: a fresh page
// costs a fault, which is slower than writing it.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace tcu::cpu {

class Memory {
 public:
  // total: the machine's memory; more is never asked for.
  Memory(size_t total, size_t keep_at_most) : total_(total), limit_(keep_at_most) {}
  ~Memory();
  void *allocate(size_t bytes);  // null for 0 bytes
  void release(void *data);      // null is fine; fails on a pointer that is not ours

  // Rounded up to one of four sizes between powers of two, so that blocks find takers.
  static size_t size_class(size_t bytes);

 private:
  std::mutex mutex_;
  size_t total_, limit_, kept_ = 0;
  std::unordered_map<void *, size_t> live_;       // size class of what callers hold
  std::map<size_t, std::vector<void *>> free_;    // by size class
};

// memcpy by several threads where that is faster.
void copy(void *to, const void *from, size_t bytes);
void zero(void *data, size_t bytes);

}  // namespace tcu::cpu
