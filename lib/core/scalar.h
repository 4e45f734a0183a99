// Scalar arithmetic for the CPU backend, the CUDA kernels and code compiled at run time: types, convert<To>(from), and
// namespace tcu::m. Includes nothing outside this directory but <cmath> and <cstdint>, and under NVRTC nothing at all.
//
// convert<To>(from), for every pair of types:
//   to a float      one rounding to nearest even, from any source; too large gives Inf
//   float to int    truncates, saturates; NaN gives 0
//   int to int      wraps
//   to bool         from != 0 (NaN is true; complex: either part)
//   complex to real takes the real part; real to complex has imaginary part 0
#pragma once
#include "core/scalar_activation.h"
#include "core/scalar_complex.h"
#include "core/scalar_types.h"

namespace tcu {

// ---- 16-bit floats ----

TCU_FN float widen(f16_t h) {
#if TCU_DEVICE_CODE
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.bits));
  return f;
#else
  uint32_t a = uint32_t(h.bits & 0x7fffu) << 13, e = a & 0x0f800000u, sign = uint32_t(h.bits & 0x8000u) << 16;
  uint32_t normal = a + (112u << 23), special = a + (224u << 23);
  uint32_t tiny = to_bits(from_bits(a + (113u << 23)) - 0x1p-14f);  // the subtraction normalizes
  return from_bits((e == 0 ? tiny : (e == 0x0f800000u ? special : normal)) | sign);
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

TCU_FN f16_t narrow_f16(float x) {
#if TCU_DEVICE_CODE
  uint16_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return {h};
#else
  uint32_t u = to_bits(x), a = u & 0x7fffffffu;
  uint32_t normal = (a - (112u << 23) + 0xfffu + ((a >> 13) & 1)) >> 13;
  uint32_t tiny = to_bits(from_bits(a) + 0.5f) - (126u << 23);  // the addition rounds at 2^-24
  uint32_t special = a > 0x7f800000u ? (0x7e00u | ((a >> 13) & 0x3ffu)) : 0x7c00u;
  uint32_t r = a < 0x38800000u ? tiny : (a >= 0x477ff000u ? special : normal);
  return {uint16_t(r | ((u >> 16) & 0x8000u))};
#endif
}
TCU_FN bf16_t narrow_bf16(float x) {
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

// double to float, rounded to odd: rounding that once more to 16 bits is the same as one rounding.
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
  } else if constexpr (is_half<From>) {
    return tcu::convert<To>(widen(x));
  } else if constexpr (is_half<To>) {
    float f;
    if constexpr (is_same<From, double>) f = narrow_odd(x);
    else if constexpr (is_int<From> && sizeof(From) >= 4) f = narrow_odd(to_double_odd(x));
    else f = tcu::convert<float>(x);
    if constexpr (is_same<To, f16_t>) return narrow_f16(f);
    else return narrow_bf16(f);
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
