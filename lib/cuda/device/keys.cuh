// Where the first greatest, or least, of some 8- or 16-bit elements is. An element's rank and, below it, how many elements come after it are one
// number, its key: the greatest key is of the first best element. A word has two 8-bit elements' keys or one 16-bit element's, so that a byte takes
// one instruction, half a word two, where comparing an element with a state takes five.
#pragma once
#include "device/intrinsics.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class T, bool kLeast>
struct KeysOf {
  static constexpr bool kPairs = sizeof(T) == 1;  // a word has two keys
  static constexpr int kBits = 8 * sizeof(T), kEach = 4 / int(sizeof(T));  // elements of a word, whose keys are two words
  static constexpr int kMost = kPairs ? 256 : 65536;  // elements that a word of keys tells apart
  static constexpr unsigned kSigns = kPairs ? 0x80808080u : 0x80008000u, kNone = kPairs ? 0x80008000u : 0x80000000u;

  // What is in a word, as signed numbers in the elements' order: -0 below +0, and NaN above all, also of the least.
  TCU_DEVICE static unsigned ranks(unsigned w) {
    if constexpr (is_int<T>) {
      return w ^ (is_signed_int<T> ? 0 : kSigns) ^ (kLeast ? ~0u : 0);
    } else {
      const unsigned x = one_nan<T>(kLeast ? w ^ kSigns : w);
      return x ^ (select_bytes(x, 0, 0xbb99) & ~kSigns);
    }
  }
  // Element e of a word is in the first or the second word of its keys, by its lowest bit, and there it is number e / 2.
  // `half` of the keys: after its first element come `first`, after its second, of bytes, `second`.
  TCU_DEVICE static unsigned keys(unsigned ranks, int half, int first, int second) {
    if constexpr (kPairs) return select_bytes(ranks, unsigned(first | second << 8), half ? 0x3514 : 0x2504);
    else return half ? select_bytes(ranks, unsigned(first), 0x3254) : (ranks << 16) + unsigned(first);
  }
  TCU_DEVICE static unsigned greater(unsigned a, unsigned b) {
    if constexpr (kPairs) return pick_halves<int16_t, true>(a, b);
    else return int32_t(a) > int32_t(b) ? a : b;
  }
  // Number `number` of a word of keys alone: the rank in the highest bits, in the lowest what comes after, which then may be as much as kBelow.
  static constexpr int32_t kBelow = int32_t(~0u >> kBits);
  TCU_DEVICE static int32_t key(unsigned keys, int number) {
    return int32_t(!kPairs ? keys : select_bytes(keys, 0, number ? 0x3442 : 0x1440));
  }
  TCU_DEVICE static int32_t greatest(unsigned keys) {
    const int32_t a = key(keys, 0), b = key(keys, kPairs);
    return a > b ? a : b;
  }
  TCU_DEVICE static int after(int32_t key) { return key & kBelow; }
  TCU_DEVICE static int32_t rank(int32_t key) { return key >> (32 - kBits); }
};

// What lanes that have keys of one output are put together by, as states are by a fold (device/fold.cuh).
struct FoldOfKeys {
  using State = int32_t;
  TCU_DEVICE static State identity() { return limits<int32_t>::lowest(); }
  TCU_DEVICE static State combine(State a, State b) { return a > b ? a : b; }
};

}  // namespace tcu::cuda
#endif
