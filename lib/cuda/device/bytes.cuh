// Folds of 8-bit integers, four in a word of 32 bits: with an instruction for each of them they are slower than the memory.
//   across(w)     all bytes of the n words w, as one number
//   down(w, to)   byte b of all n words, for b = 0 .. 3
//   kAgain        a word that comes twice changes nothing
#pragma once
#include "device/intrinsics.cuh"

#if defined(TCU_KERNELS)
namespace tcu::cuda {

template <class T>
struct SumOfBytes {
  static constexpr bool kAgain = false;
  template <int n> TCU_DEVICE static int32_t across(const unsigned (&w)[n]) {
    int32_t sum = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) sum = sum_bytes<T>(w[i], 0x01010101u, sum);
    return sum;
  }
  template <int n> TCU_DEVICE static void down(const unsigned (&w)[n], int32_t (&to)[4]) {
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      to[b] = 0;
#pragma unroll
      for (int i = 0; i < n; ++i) to[b] = sum_bytes<T>(w[i], 1u << 8 * b, to[b]);
    }
  }
};

// As halves of 16 bits, of which the upper byte is what is wanted and the lower one decides nothing but ties: a word as it is has
// bytes 3 and 1 there, shifted by a byte 2 and 0.
template <class T, bool kLarger>
struct ExtremeOfBytes {
  static constexpr bool kAgain = true;
  using Half = select_t<is_signed_int<T>, int16_t, uint16_t>;
  TCU_DEVICE static unsigned pick(unsigned x, unsigned y) { return pick_halves<Half, kLarger>(x, y); }
  TCU_DEVICE static int32_t upper(unsigned half) { return T(half >> 8); }

  template <int n> TCU_DEVICE static void halves(const unsigned (&w)[n], unsigned &odd, unsigned &even) {
    odd = w[0], even = w[0] << 8;
#pragma unroll
    for (int i = 1; i < n; ++i) odd = pick(odd, w[i]), even = pick(even, w[i] << 8);
  }
  template <int n> TCU_DEVICE static int32_t across(const unsigned (&w)[n]) {
    unsigned odd, even;
    halves(w, odd, even);
    const unsigned all = pick(odd, even);
    return upper(pick(all, all >> 16));
  }
  template <int n> TCU_DEVICE static void down(const unsigned (&w)[n], int32_t (&to)[4]) {
    unsigned odd, even;
    halves(w, odd, even);
    to[0] = upper(even), to[1] = upper(odd), to[2] = upper(even >> 16), to[3] = upper(odd >> 16);
  }
};

}  // namespace tcu::cuda
#endif
