// One-thread intrinsics: bits, casts, cached loads and stores, fences, sleep, and the fast or exactly rounded
// floating-point functions. Fast ones (__expf, …) are computed as well as the host does: the emulator checks indices
// and order, not the last bits of an approximation.
#pragma once

#include "emulator.h"

#include <bit>
#include <cmath>
#include <math.h>

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(unsigned(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned long long __brevll(unsigned long long x) {
  unsigned long long r = 0;
  for (int i = 0; i < 64; ++i) r |= (x >> i & 1) << (63 - i);
  return r;
}
inline unsigned __brev(unsigned x) { return unsigned(__brevll(x) >> 32); }
inline int __mulhi(int a, int b) { return int((static_cast<long long>(a) * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((static_cast<unsigned long long>(a) * b) >> 32); }
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>((static_cast<__int128>(a) * b) >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned((((static_cast<unsigned long long>(high) << 32) | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((static_cast<unsigned long long>(high) << 32) | low) >> (shift & 31));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  unsigned long long bytes = (static_cast<unsigned long long>(b) << 32) | a;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) r |= unsigned(bytes >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  return r;
}

inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

template <class T> T __ldg(const T *p) { return *emu::aligned(p); }
template <class T> T __ldca(const T *p) { return *emu::aligned(p); }
template <class T> T __ldcg(const T *p) { return *emu::aligned(p); }
template <class T> T __ldcs(const T *p) { return *emu::aligned(p); }
template <class T> T __ldlu(const T *p) { return *emu::aligned(p); }
template <class T> T __ldcv(const T *p) { return *emu::aligned(p); }
template <class T> void __stwb(T *p, T v) { *emu::aligned(p) = v; }
template <class T> void __stcg(T *p, T v) { *emu::aligned(p) = v; }
template <class T> void __stcs(T *p, T v) { *emu::aligned(p) = v; }
template <class T> void __stwt(T *p, T v) { *emu::aligned(p) = v; }

inline void __threadfence_block() { emu::preempt(); }
inline void __threadfence() { emu::preempt(); }
inline void __threadfence_system() { emu::preempt(); }
inline void __nanosleep(unsigned) { emu::yield(); }
[[noreturn]] inline void __trap() { emu::fail("__trap()"); }

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return std::pow(10.0f, x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline float rsqrt(float x) { return 1.0f / std::sqrt(x); }
#if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 42)  // which has these two
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
#endif

#define TCU_EMULATOR_MIN_MAX(T)                           \
  constexpr T min(T a, T b) { return b < a ? b : a; }     \
  constexpr T max(T a, T b) { return a < b ? b : a; }
TCU_EMULATOR_MIN_MAX(int)
TCU_EMULATOR_MIN_MAX(unsigned)
TCU_EMULATOR_MIN_MAX(long)
TCU_EMULATOR_MIN_MAX(unsigned long)
TCU_EMULATOR_MIN_MAX(long long)
TCU_EMULATOR_MIN_MAX(unsigned long long)
#undef TCU_EMULATOR_MIN_MAX
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
