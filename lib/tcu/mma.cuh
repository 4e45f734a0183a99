// mma.sync, the tensor core's instruction of a warp: D += A B (PTX ISA, "Warp-level matrix instructions"). One wrapper a dtype, on the
// registers of a thread; what lies in which register is layout.cuh's. All 32 lanes take part. Compute capability 8.0.
// A, of 16 rows, takes four 32-bit registers of a thread, B two, D, of 16 x 8, four; of float64 A has 8 rows, and A, B and D take one, one
// and two numbers. Products are exact, and so is what is added of them but for the lowest bits: a tensor core cuts off below the 24 to 26
// highest bits of the largest term, so that a chain of n of them loses up to n units in the last place, all in the same direction.
#pragma once
#include "core/scalar.h"

#if defined(TCU_EMULATOR)
#include <cuda_runtime.h>
#endif

#if defined(__CUDACC__) || defined(TCU_EMULATOR)
#define TCU_WARP __device__ __forceinline__

namespace tcu {

// An operand type that is no dtype: a float32 of which the lowest 13 bits are not looked at.
struct tf32_t {
  uint32_t bits;
};

namespace mma {

#if TCU_DEVICE_CODE
#define TCU_MMA(shape, types, c)                                                                                     \
  asm("mma.sync.aligned." shape ".row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+" c(d[0]), "+" c(d[1]), "+" c(d[2]), "+" c(d[3])                                                           \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#else  // nvcc's pass for the host, and the emulator, which has a twin of each
#define TCU_MMA(shape, types, c) ((void)0)
#endif
#if defined(TCU_EMULATOR)
#define TCU_MMA_TWIN(call) call
#else
#define TCU_MMA_TWIN(call) ((void)0)
#endif

using A = const uint32_t (&)[4];
using B = const uint32_t (&)[2];

// K: columns of A; kOne: the number 1 in every element of a register; Sum: of D. Sums of integers wrap. kProducts: of the machine's, which
// follow each other onto D.
template <class T> struct Instruction;
#define TCU_INSTRUCTION(T, columns, one, Number, c, PTX, types, twin) \
  template <> struct Instruction<T> {                                 \
    using Sum = Number;                                               \
    static constexpr int K = columns, kProducts = 1;                  \
    static constexpr uint32_t kOne = one;                             \
    TCU_WARP static void multiply(Sum (&d)[4], A a, B b) {            \
      PTX("m16n8k" #columns, types, c);                               \
      TCU_MMA_TWIN(emu::twin);                                        \
    }                                                                 \
  };
// clang-format off
TCU_INSTRUCTION(f16_t,   16, 0x3c003c00, float,   "f", TCU_MMA,     "f32.f16.f16.f32",   mma_m16n8k16(d, a, b, d, emu::mma_kind::f16))
TCU_INSTRUCTION(bf16_t,  16, 0x3f803f80, float,   "f", TCU_MMA,     "f32.bf16.bf16.f32", mma_m16n8k16(d, a, b, d, emu::mma_kind::bf16))
TCU_INSTRUCTION(tf32_t,   8, 0x3f800000, float,   "f", TCU_MMA,     "f32.tf32.tf32.f32", mma_m16n8k8_tf32(d, a, b, d))
TCU_INSTRUCTION(int8_t,  32, 0x01010101, int32_t, "r", TCU_MMA,     "s32.s8.s8.s32",     mma_m16n8k32(d, a, b, d, emu::mma_int::s8))
TCU_INSTRUCTION(uint8_t, 32, 0x01010101, int32_t, "r", TCU_MMA,     "s32.u8.u8.s32",     mma_m16n8k32(d, a, b, d, emu::mma_int::u8))
// clang-format on

// Floats of 8 bits are float16 exactly (halves_of): two products of float16, the first of elements 0 and 1 of every register, the second of
// 2 and 3.
// (mma of e4m3 and e5m2, 8.9, is the same two products and the same conversions on compute capability 9.0 and 10.0, with four additions
// more; where it is one product, on 8.9 and 12.0, fewer bits of the sum may be kept.)
template <class T, uint32_t one>
struct InstructionOf8 {
  using Sum = float;
  static constexpr int K = 32, kProducts = 2;
  static constexpr uint32_t kOne = one;
  TCU_WARP static void multiply(Sum (&d)[4], A a, B b) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t x[4] = {halves_of<T>(a[0], half), halves_of<T>(a[1], half), halves_of<T>(a[2], half), halves_of<T>(a[3], half)};
      const uint32_t y[2] = {halves_of<T>(b[0], half), halves_of<T>(b[1], half)};
      Instruction<f16_t>::multiply(d, x, y);
    }
  }
};
template <> struct Instruction<f8e4m3_t> : InstructionOf8<f8e4m3_t, 0x38383838> {};
template <> struct Instruction<f8e5m2_t> : InstructionOf8<f8e5m2_t, 0x3c3c3c3c> {};

template <> struct Instruction<double> {
  using Sum = double;
  static constexpr int K = 4, kProducts = 1;
  TCU_WARP static void multiply(Sum (&d)[2], double a, double b) {
#if TCU_DEVICE_CODE
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(d[0]), "+d"(d[1]) : "d"(a), "d"(b));
#endif
    TCU_MMA_TWIN(emu::mma_m8n8k4_f64(d, &a, &b, d));
  }
};

#undef TCU_INSTRUCTION
#undef TCU_MMA
#undef TCU_MMA_TWIN

}  // namespace mma
}  // namespace tcu
#endif
