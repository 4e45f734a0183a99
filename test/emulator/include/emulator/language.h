// What nvcc adds to the C++ language, as macros and plain structs: function and variable qualifiers, vector types with
// CUDA's alignments (so that UBSan reports a misaligned vector access), and the built-in index variables.
// There is deliberately no __shared__: kernels declare shared memory by TCU_SHARED and TCU_DYNAMIC_SHARED.
#pragma once

#include <cstddef>
#include <cstdint>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__  // libstdc++ writes __attribute__((__noinline__)), so it may only expand to nothing
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))

#define TCU_EMULATOR_VECTOR(T, name, align2, align4)                                                              \
  struct name##1 { T x; };                                                                                       \
  struct alignas(align2) name##2 { T x, y; };                                                                    \
  struct name##3 { T x, y, z; };                                                                                 \
  struct alignas(align4) name##4 { T x, y, z, w; };                                                              \
  constexpr name##1 make_##name##1(T x) { return {x}; }                                                          \
  constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }                                                  \
  constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                          \
  constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

TCU_EMULATOR_VECTOR(signed char, char, 2, 4)
TCU_EMULATOR_VECTOR(unsigned char, uchar, 2, 4)
TCU_EMULATOR_VECTOR(short, short, 4, 8)
TCU_EMULATOR_VECTOR(unsigned short, ushort, 4, 8)
TCU_EMULATOR_VECTOR(int, int, 8, 16)
TCU_EMULATOR_VECTOR(unsigned, uint, 8, 16)
TCU_EMULATOR_VECTOR(long, long, 16, 16)
TCU_EMULATOR_VECTOR(unsigned long, ulong, 16, 16)
TCU_EMULATOR_VECTOR(long long, longlong, 16, 16)
TCU_EMULATOR_VECTOR(unsigned long long, ulonglong, 16, 16)
TCU_EMULATOR_VECTOR(float, float, 8, 16)
TCU_EMULATOR_VECTOR(double, double, 16, 16)
#undef TCU_EMULATOR_VECTOR

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

constexpr int warpSize = 32;

// Set by the scheduler each time it resumes a fiber. Plain globals: one launch runs at a time, on one host thread.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
