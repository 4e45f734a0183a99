// Where the first greatest, or least, of some 8- or 16-bit elements is. An element's rank and, below it, how many elements come after it are one
// number, its key: the greatest key is of the first best element, at two instructions for a byte where comparing it with a state takes five.
#pragma once
#include "device/intrinsics.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class T, bool kLeast>
struct KeysOf {
  static constexpr int kBits = 8 * sizeof(T), kEach = 4 / int(sizeof(T));  // elements of a word
  static constexpr unsigned kSigns = sizeof(T) == 1 ? 0x80808080u : 0x80008000u, kRank = ~0u << (32 - kBits);
  static constexpr int32_t kNone = limits<int32_t>::lowest();

  // What is in a word, as signed numbers in the elements' order: -0 below +0, and NaN above all, also of the least.
  TCU_DEVICE static unsigned ranks(unsigned w) {
    if constexpr (is_int<T>) {
      return w ^ (is_signed_int<T> ? 0 : kSigns) ^ (kLeast ? ~0u : 0);
    } else {
      const unsigned x = one_nan<T>(kLeast ? w ^ kSigns : w), signs = x & kSigns;
      return x ^ (signs - (signs >> (kBits - 1)));
    }
  }
  // The key of element e of a word, after which n come.
  TCU_DEVICE static int32_t key(unsigned ranks, int e, int n) { return int32_t(upper_part<T>(ranks, e)) + n; }
  TCU_DEVICE static int after(int32_t key) { return int(unsigned(key) & ~kRank); }
  TCU_DEVICE static T element(int32_t key) {
    const unsigned rank = unsigned(key) >> (32 - kBits), sign = 1u << (kBits - 1);
    unsigned bits = rank;
    if constexpr (is_int<T>) bits ^= (is_signed_int<T> ? 0 : sign) ^ (kLeast ? ~0u : 0);
    else bits ^= (rank & sign ? sign - 1 : 0) ^ (kLeast ? sign : 0);
    return __builtin_bit_cast(T, bits_t<T>(bits));
  }
};

}  // namespace tcu::cuda
#endif
