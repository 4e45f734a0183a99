// Which element of A (16 x K), B (K x 8) and D (16 x 8) is which part of which register of which lane, for the instructions of mma.cuh
// that take 32-bit registers (PTX ISA, "Matrix fragments for mma.m16n8k16" and those after it). In registers they are all one layout: four
// neighbouring lanes, a quad, have a row of A and one eight rows further down, a column of B and, two columns each, those rows of D.
#pragma once
#include "tcu/mma.cuh"

#if defined(TCU_WARP)
namespace tcu::mma {

struct Place {
  int row, column;
};
TCU_FN constexpr int quad_of(int lane) { return lane / 4; }
TCU_FN constexpr int member_of(int lane) { return lane % 4; }

// Elements of T in a register.
template <class T> inline constexpr int kPacked = 4 / int(sizeof(T));

template <class T> TCU_FN constexpr Place place_in_a(int lane, int word, int element) {
  return {quad_of(lane) + 8 * (word & 1), (member_of(lane) + 4 * (word >> 1)) * kPacked<T> + element};
}
template <class T> TCU_FN constexpr Place place_in_b(int lane, int word, int element) {
  return {(member_of(lane) + 4 * word) * kPacked<T> + element, quad_of(lane)};
}
TCU_FN constexpr Place place_in_d(int lane, int number) { return {quad_of(lane) + 8 * (number >> 1), 2 * member_of(lane) + (number & 1)}; }

// A constant B, of ones where is_one(row, column) and zeros elsewhere; made in registers, nothing is loaded.
template <class T>
struct ConstantB {
  uint32_t words[2];
  template <class F>
  TCU_WARP static ConstantB of(int lane, F is_one) {
    constexpr int kBits = 8 * int(sizeof(T));
    constexpr uint32_t kMask = kBits == 32 ? ~0u : (1u << (kBits & 31)) - 1;
    ConstantB c{};
#pragma unroll
    for (int w = 0; w < 2; ++w)
#pragma unroll
      for (int e = 0; e < kPacked<T>; ++e) {
        const Place at = place_in_b<T>(lane, w, e);
        if (is_one(at.row, at.column)) c.words[w] |= (Instruction<T>::kOne & kMask) << (e * kBits);
      }
    return c;
  }
  TCU_WARP static ConstantB ones() { return {{Instruction<T>::kOne, Instruction<T>::kOne}}; }
};
// An A of ones.
struct ConstantA {
  uint32_t words[4];
};
template <class T> TCU_WARP ConstantA ones_as_a() {
  constexpr uint32_t one = Instruction<T>::kOne;
  return {{one, one, one, one}};
}

}  // namespace tcu::mma
#endif
