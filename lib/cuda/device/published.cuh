// A state that one block publishes for others. It is its own flag: it travels in 64-bit words of 32 bits each and a bit that
// says 'written', so that neither side needs a fence and a wait is one trip to the L2 cache. The words are zero beforehand.
#pragma once
#include "device/intrinsics.cuh"

namespace tcu::cuda {

// Words that a state of so many bytes travels in.
TCU_FN constexpr int published_words(int bytes) { return (bytes + 3) / 4; }

#if defined(TCU_KERNELS)
template <class Acc>
struct Published {
  static constexpr int kWords = published_words(sizeof(Acc));
  uint64_t at[kWords];

  union Pieces {
    Acc value;
    uint32_t word[kWords];
    TCU_DEVICE Pieces() : word{} {}
  };
  // tag: what 'written' is there; with several, a word is used again.
  TCU_DEVICE static void publish(uint64_t *to, Acc value, uint32_t tag = 1) {
    Pieces x;
    x.value = value;
#pragma unroll
    for (int k = 0; k < kWords; ++k) store_relaxed(to + k, uint64_t(tag) << 32 | x.word[k]);
  }
  TCU_DEVICE static void clear(uint64_t *at) {
#pragma unroll
    for (int k = 0; k < kWords; ++k) store_relaxed(at + k, 0);
  }
  TCU_DEVICE static Published ask(const uint64_t *from) {
    Published w;
#pragma unroll
    for (int k = 0; k < kWords; ++k) w.at[k] = load_relaxed(from + k);
    return w;
  }
  TCU_DEVICE bool written(uint32_t tag = 1) const {
    bool all = true;
#pragma unroll
    for (int k = 0; k < kWords; ++k) all &= uint32_t(at[k] >> 32) == tag;
    return all;
  }
  // What stands at `from`, once it does; this is what was seen there so far.
  TCU_DEVICE Acc wait(const uint64_t *from, uint32_t tag = 1) {
    while (!written(tag)) {
      __nanosleep(20);
      *this = ask(from);
    }
    return value();
  }
  TCU_DEVICE Acc value() const {
    Pieces x;
#pragma unroll
    for (int k = 0; k < kWords; ++k) x.word[k] = uint32_t(at[k]);
    return x.value;
  }
};
#endif

}  // namespace tcu::cuda
