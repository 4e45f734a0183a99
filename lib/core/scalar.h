// Scalar arithmetic for the CPU backend, the CUDA kernels and code compiled at run time: types, convert<To>(from), and
// namespace tcu::m. Includes nothing outside this directory but <cmath> and <cstdint>, and under NVRTC nothing at all.
//
// convert<To>(from), for every pair of types:
//   to a float      one rounding to nearest even, from any source; too large gives Inf. f8e4m3_t has none: what would round to more than
//                   448, and Inf, give NaN (as PyTorch's float8_e4m3fn and ml_dtypes do)
//   float to int    truncates, saturates; NaN gives 0
//   int to int      wraps
//   to bool         from != 0 (NaN is true; complex: either part)
//   complex to real takes the real part; real to complex has imaginary part 0
#pragma once
#include "core/scalar_activation.h"
#if !defined(TCU_REAL)  // code generated at run time that has no complex number
#include "core/scalar_complex.h"
#endif
#include "core/scalar_types.h"

namespace tcu {

// ---- floats of 8 and 16 bits ----

// What the arithmetic below needs to know of a format of fewer exponents than float has. kPast: the bits of the first float that rounds
// past the largest number, and kOver what it gives.
template <class T> struct Format;
template <> struct Format<f16_t> {
  static constexpr int kFraction = 10, kBias = 15;
  static constexpr uint32_t kPast = 0x477ff000u, kOver = 0x7c00u, kQuiet = 0x7e00u;
};
template <> struct Format<f8e5m2_t> {
  static constexpr int kFraction = 2, kBias = 15;
  static constexpr uint32_t kPast = 0x47700000u, kOver = 0x7cu, kQuiet = 0x7eu;
};
template <> struct Format<f8e4m3_t> {
  static constexpr int kFraction = 3, kBias = 7;
  static constexpr uint32_t kPast = 0x43e80001u, kOver = 0x7fu, kQuiet = 0x7fu;
};

template <class T> TCU_FN float widen_bits(T h) {
  using F = Format<T>;
  constexpr int shift = 23 - F::kFraction, sign_at = 8 * int(sizeof(T)) - 1;
  constexpr uint32_t magnitude = (1u << sign_at) - 1, lift = uint32_t(127 - F::kBias) << 23;
  constexpr uint32_t exponents = (magnitude << shift) & 0x7f800000u, last = F::kOver << shift;
  uint32_t a = (h.bits & magnitude) << shift, sign = uint32_t(h.bits >> sign_at) << 31;
  uint32_t normal = a + lift, special = a | 0x7f800000u;
  uint32_t tiny = to_bits(from_bits(a + lift + (1u << 23)) - from_bits(lift + (1u << 23)));  // the subtraction normalizes
  return from_bits(((a & exponents) == 0 ? tiny : (a >= last ? special : normal)) | sign);
}
template <class T> TCU_FN T narrow_bits(float x) {
  using F = Format<T>;
  constexpr int shift = 23 - F::kFraction, sign_at = 8 * int(sizeof(T)) - 1;
  constexpr uint32_t lift = uint32_t(127 - F::kBias) << 23, last_bit = uint32_t(128 - F::kBias + shift) << 23;
  uint32_t u = to_bits(x), a = u & 0x7fffffffu;
  uint32_t normal = (a - lift + ((1u << (shift - 1)) - 1) + ((a >> shift) & 1)) >> shift;
  uint32_t tiny = to_bits(from_bits(a) + from_bits(last_bit)) - last_bit;  // the addition rounds where T's last bit is
  uint32_t special = a > 0x7f800000u ? (F::kQuiet | ((a >> shift) & ((1u << F::kFraction) - 1))) : F::kOver;
  uint32_t r = a < lift + (1u << 23) ? tiny : (a >= F::kPast ? special : normal);
  return {bits_t<T>(r | (u >> 31 << sign_at))};
}

TCU_FN float widen(f16_t h) {
#if TCU_DEVICE_CODE
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.bits));
  return f;
#else
  return widen_bits(h);
#endif
}
TCU_FN float widen(bf16_t h) {
#if TCU_DEVICE_CODE
  float f;
  asm("mov.b32 %0, {%1, %2};" : "=f"(f) : "h"(uint16_t(0)), "h"(h.bits));  // one instruction, in either half of a register
  return f;
#else
  return from_bits(uint32_t(h.bits) << 16);
#endif
}
TCU_FN float widen(f8e5m2_t h) { return widen(f16_t{uint16_t(h.bits << 8)}); }
TCU_FN float widen(f8e4m3_t h) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 890
  uint32_t two;  // the instruction takes two numbers
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(two) : "h"(uint16_t(h.bits)));
  return widen(f16_t{uint16_t(two)});
#else
  return widen_bits(h);
#endif
}

// float as a T, rounded once, to nearest even.
template <class T> TCU_FN T narrow(float x);
template <> TCU_FN f16_t narrow<f16_t>(float x) {
#if TCU_DEVICE_CODE
  uint16_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return {h};
#else
  return narrow_bits<f16_t>(x);
#endif
}
template <> TCU_FN bf16_t narrow<bf16_t>(float x) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 800
  uint16_t h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return {h};
#else
  uint32_t u = to_bits(x);
  uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1)) >> 16;
  return {uint16_t((u & 0x7fffffffu) > 0x7f800000u ? ((u >> 16) | 0x40u) : rounded)};
#endif
}
// PTX has these with .satfinite alone, which gives the largest number for what is past it, Inf too; that is put right.
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 890
#define TCU_NARROW_8(T, name)                                                                         \
  uint16_t two;                                                                                       \
  asm("cvt.rn.satfinite." name "x2.f32 %0, %1, %2;" : "=h"(two) : "f"(0.f), "f"(x));                  \
  const uint32_t u = to_bits(x), a = u & 0x7fffffffu;                                                 \
  return {uint8_t(a >= Format<T>::kPast && a <= 0x7f800000u ? Format<T>::kOver | (u >> 31 << 7) : two)}
#else
#define TCU_NARROW_8(T, name) return narrow_bits<T>(x)
#endif
template <> TCU_FN f8e4m3_t narrow<f8e4m3_t>(float x) { TCU_NARROW_8(f8e4m3_t, "e4m3"); }
template <> TCU_FN f8e5m2_t narrow<f8e5m2_t>(float x) { TCU_NARROW_8(f8e5m2_t, "e5m2"); }
#undef TCU_NARROW_8

// Elements 2 * half and 2 * half + 1 of four 8-bit floats in a word, as float16, which holds them exactly: one instruction for two.
template <class T> TCU_FN uint32_t halves_of(uint32_t word, int half) {
  static_assert(is_short_float<T> && sizeof(T) == 1);
#if TCU_DEVICE_CODE
  if constexpr (is_same<T, f8e5m2_t>) return __byte_perm(word, 0, half ? 0x3424 : 0x1404);
#endif
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 890
  uint32_t two = 0;
  if constexpr (is_same<T, f8e4m3_t>) asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(two) : "h"(uint16_t(half ? word >> 16 : word)));
  return two;
#else
  const uint32_t low = word >> 16 * half & 0xffu, high = word >> (16 * half + 8) & 0xffu;
  return narrow<f16_t>(widen(T{uint8_t(low)})).bits | uint32_t(narrow<f16_t>(widen(T{uint8_t(high)})).bits) << 16;
#endif
}

// double to float, rounded to odd: rounding that once more to 8 or 16 bits is the same as one rounding.
TCU_FN float narrow_odd(double x) {
  float f = float(x);
  double back = double(f), a = x < 0 ? -x : x, b = back < 0 ? -back : back;
  uint32_t u = to_bits(f);
  uint32_t odd = (u - (b > a ? 1u : 0u)) | 1u;
  return from_bits(b != a && x == x ? odd : u);
}
// An integer as a double with 53 bits, the last one set if any below it is: exact for what narrow_odd needs.
template <class T> TCU_FN double to_double_odd(T x) {
  if constexpr (sizeof(T) == 8) {
    constexpr uint64_t low = 0xfff;
    bool neg = m::signbit(x);
    uint64_t u = neg ? 0 - uint64_t(x) : uint64_t(x);
    uint64_t jam = (u & ~low) | ((u & low) != 0 ? low + 1 : 0);
    double d = double(u >> 53 != 0 ? jam : u);
    return neg ? -d : d;
  } else {
    return double(x);
  }
}

// ---- float to integer ----

template <class To, class F> TCU_FN To float_to_int(F x) {
  // Clamped to the floats that fit, then what is beyond them. 2^(digits) is exact in F.
  constexpr F lo = F(limits<To>::lowest());
  constexpr F past = F(2) * F((limits<To>::max() >> 1) + 1);
  if constexpr (sizeof(To) <= 2) {
    F y = x < lo ? lo : x;
    y = y > F(limits<To>::max()) ? F(limits<To>::max()) : y;
    return To(int32_t(y == y ? y : F(0)));
  } else {
    bool fits = (x >= lo) & (x < past);
    To y = To(fits ? x : F(0));
    return x >= past ? limits<To>::max() : (x < lo ? limits<To>::lowest() : y);
  }
}

// ---- convert ----

template <class To, class From> TCU_FN To convert(From x) {
  if constexpr (is_same<To, From>) {
    return x;
  } else if constexpr (is_complex<From>) {
    if constexpr (is_complex<To>) return To{real_t<To>(x.re), real_t<To>(x.im)};
    else if constexpr (is_bool<To>) return (x.re != 0) | (x.im != 0);
    else return tcu::convert<To>(x.re);
  } else if constexpr (is_complex<To>) {
    return To{tcu::convert<real_t<To>>(x), real_t<To>(0)};
  } else if constexpr (is_short_float<From>) {
    return tcu::convert<To>(widen(x));
  } else if constexpr (is_short_float<To>) {
    float f;
    if constexpr (is_same<From, double>) f = narrow_odd(x);
    else if constexpr (is_int<From> && sizeof(From) >= 4) f = narrow_odd(to_double_odd(x));
    else f = tcu::convert<float>(x);
    return narrow<To>(f);
  } else if constexpr (is_bool<To>) {
    return x != From(0);
  } else if constexpr (is_float<From> && is_int<To>) {
    return float_to_int<To>(x);
  } else if constexpr (is_bool<From>) {
    return To(int(bool_bits(x)));
  } else {
    return To(x);
  }
}

}  // namespace tcu
