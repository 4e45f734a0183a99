// mma.sync, the tensor core's instruction of a warp: D += A B (PTX ISA, "Warp-level matrix instructions"). One wrapper a dtype, on the
// registers of a thread; what lies in which register is layout.cuh's. All 32 lanes take part. Compute capability 8.0; fp8: 8.9.
// A, of 16 rows, takes four 32-bit registers of a thread, B two, D, of 16 x 8, four; of float64 A has 8 rows, and A, B and D take one, one
// and two numbers. Products are exact, and so is what is added of them but for the lowest bits: a tensor core cuts off below the 24 to 26
// highest bits of the largest term, so that a chain of n of them loses up to n units in the last place, all in the same direction.
#pragma once
#include "core/scalar_types.h"

#if defined(TCU_EMULATOR)
#include <cuda_runtime.h>
#endif

#if defined(__CUDACC__) || defined(TCU_EMULATOR)
#define TCU_WARP __device__ __forceinline__

namespace tcu {

// Operand types that are no dtypes: a float32 of which the lowest 13 bits are not looked at, and floats of 8 bits.
struct tf32_t {
  uint32_t bits;
};
struct e4m3_t {
  uint8_t bits;
};
struct e5m2_t {
  uint8_t bits;
};

namespace mma {

#if TCU_DEVICE_CODE
#define TCU_MMA(shape, types, c)                                                                                              \
  asm("mma.sync.aligned." shape ".row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"          \
      : "+" c(d[0]), "+" c(d[1]), "+" c(d[2]), "+" c(d[3])                                                                    \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define TCU_MMA_TWIN(call) ((void)0)
#elif defined(TCU_EMULATOR)
#define TCU_MMA(shape, types, c) ((void)0)
#define TCU_MMA_TWIN(call) call
#else  // nvcc's pass for the host
#define TCU_MMA(shape, types, c) ((void)0)
#define TCU_MMA_TWIN(call) ((void)0)
#endif

using A = const uint32_t (&)[4];
using B = const uint32_t (&)[2];

// kOne: the number 1 in every element of a register; K: columns of A.
template <class T> struct Instruction;
template <> struct Instruction<f16_t> {
  using Sum = float;
  static constexpr int K = 16;
  static constexpr uint32_t kOne = 0x3c003c00;
  TCU_WARP static void multiply(Sum (&d)[4], A a, B b) {
    TCU_MMA("m16n8k16", "f32.f16.f16.f32", "f");
    TCU_MMA_TWIN(emu::mma_m16n8k16(d, a, b, d, emu::mma_kind::f16));
  }
};
template <> struct Instruction<bf16_t> {
  using Sum = float;
  static constexpr int K = 16;
  static constexpr uint32_t kOne = 0x3f803f80;
  TCU_WARP static void multiply(Sum (&d)[4], A a, B b) {
    TCU_MMA("m16n8k16", "f32.bf16.bf16.f32", "f");
    TCU_MMA_TWIN(emu::mma_m16n8k16(d, a, b, d, emu::mma_kind::bf16));
  }
};
template <> struct Instruction<tf32_t> {
  using Sum = float;
  static constexpr int K = 8;
  static constexpr uint32_t kOne = 0x3f800000;
  TCU_WARP static void multiply(Sum (&d)[4], A a, B b) {
    TCU_MMA("m16n8k8", "f32.tf32.tf32.f32", "f");
    TCU_MMA_TWIN(emu::mma_m16n8k8_tf32(d, a, b, d));
  }
};
template <> struct Instruction<int8_t> {
  using Sum = int32_t;  // wraps
  static constexpr int K = 32;
  static constexpr uint32_t kOne = 0x01010101;
  TCU_WARP static void multiply(Sum (&d)[4], A a, B b) {
    TCU_MMA("m16n8k32", "s32.s8.s8.s32", "r");
    TCU_MMA_TWIN(emu::mma_m16n8k32(d, a, b, d, emu::mma_int::s8));
  }
};
template <> struct Instruction<uint8_t> {
  using Sum = int32_t;
  static constexpr int K = 32;
  static constexpr uint32_t kOne = 0x01010101;
  TCU_WARP static void multiply(Sum (&d)[4], A a, B b) {
    TCU_MMA("m16n8k32", "s32.u8.u8.s32", "r");
    TCU_MMA_TWIN(emu::mma_m16n8k32(d, a, b, d, emu::mma_int::u8));
  }
};
template <> struct Instruction<e4m3_t> {
  using Sum = float;
  static constexpr int K = 32;
  static constexpr uint32_t kOne = 0x38383838;
  TCU_WARP static void multiply(Sum (&d)[4], A a, B b) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 890
    TCU_MMA("m16n8k32", "f32.e4m3.e4m3.f32", "f");
#endif
    TCU_MMA_TWIN(emu::mma_m16n8k32_fp8(d, a, b, d, emu::mma_fp8::e4m3));
  }
};
template <> struct Instruction<e5m2_t> {
  using Sum = float;
  static constexpr int K = 32;
  static constexpr uint32_t kOne = 0x3c3c3c3c;
  TCU_WARP static void multiply(Sum (&d)[4], A a, B b) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 890
    TCU_MMA("m16n8k32", "f32.e5m2.e5m2.f32", "f");
#endif
    TCU_MMA_TWIN(emu::mma_m16n8k32_fp8(d, a, b, d, emu::mma_fp8::e5m2));
  }
};
template <> struct Instruction<double> {
  using Sum = double;
  static constexpr int K = 4;
  TCU_WARP static void multiply(Sum (&d)[2], double a, double b) {
#if TCU_DEVICE_CODE
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(d[0]), "+d"(d[1]) : "d"(a), "d"(b));
#endif
    TCU_MMA_TWIN(emu::mma_m8n8k4_f64(d, &a, &b, d));
  }
};

#undef TCU_MMA
#undef TCU_MMA_TWIN

}  // namespace mma
}  // namespace tcu
#endif
