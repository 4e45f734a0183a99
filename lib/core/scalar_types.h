// The scalar types of dtypes.def and their limits, for g++, nvcc and NVRTC alike (NVRTC has no standard headers).
#pragma once

#if defined(__CUDACC_RTC__)
#ifndef TCU_HAVE_STDINT
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
#if defined(_WIN64)
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
typedef long int64_t;
typedef unsigned long uint64_t;
#endif
#endif
#else
#include <cmath>
#include <cstdint>
#endif

#if defined(__CUDACC__)
#define TCU_FN __host__ __device__ __forceinline__
#else
#define TCU_FN inline __attribute__((always_inline))
#endif
// Set only while device code is compiled: PTX and CUDA's own functions are allowed. The emulator takes the host branch.
#if defined(__CUDA_ARCH__) && !defined(TCU_EMULATOR)
#define TCU_DEVICE_CODE 1
#else
#define TCU_DEVICE_CODE 0
#endif

namespace tcu {

struct f16_t {
  uint16_t bits;
};
struct bf16_t {
  uint16_t bits;
};
// A sign, 4 or 5 bits of exponent, 3 or 2 of fraction (Micikevicius et al. 2022, "FP8 formats for deep learning"). e5m2 is the upper byte
// of a float16. e4m3 has no infinity: all ones but the sign is NaN, so that it reaches 448.
struct f8e4m3_t {
  uint8_t bits;
};
struct f8e5m2_t {
  uint8_t bits;
};

// Aligned as R is: a caller's array may be. Kernels that know better load both parts at once.
template <class R>
struct complex_t {
  R re, im;
};
using c64_t = complex_t<float>;
using c128_t = complex_t<double>;

static_assert(sizeof(int64_t) == 8 && sizeof(f16_t) == 2 && sizeof(c64_t) == 8 && sizeof(c128_t) == 16);

template <class A, class B> inline constexpr bool is_same = false;
template <class A> inline constexpr bool is_same<A, A> = true;

template <class T> inline constexpr bool is_bool = is_same<T, bool>;
template <class T>
inline constexpr bool is_signed_int =
    is_same<T, int8_t> || is_same<T, int16_t> || is_same<T, int32_t> || is_same<T, int64_t>;
template <class T>
inline constexpr bool is_unsigned_int =
    is_same<T, uint8_t> || is_same<T, uint16_t> || is_same<T, uint32_t> || is_same<T, uint64_t>;
template <class T> inline constexpr bool is_int = is_signed_int<T> || is_unsigned_int<T>;
template <class T> inline constexpr bool is_integral = is_bool<T> || is_int<T>;
template <class T> inline constexpr bool is_float = is_same<T, float> || is_same<T, double>;
// Floats that are stored in 8 or 16 bits and computed in float.
template <class T>
inline constexpr bool is_short_float = is_same<T, f16_t> || is_same<T, bf16_t> || is_same<T, f8e4m3_t> || is_same<T, f8e5m2_t>;
template <class T> inline constexpr bool is_complex = false;
template <class R> inline constexpr bool is_complex<complex_t<R>> = true;

template <bool C, class A, class B> struct select_type { using type = A; };
template <class A, class B> struct select_type<false, A, B> { using type = B; };
template <bool C, class A, class B> using select_t = typename select_type<C, A, B>::type;

// An unsigned type at least as wide as int and T: arithmetic in it wraps and never promotes to a signed type.
template <class T> using wrap_t = select_t<sizeof(T) == 8, uint64_t, uint32_t>;
// The unsigned type of the same size.
template <class T>
using bits_t = select_t<sizeof(T) == 8, uint64_t,
                        select_t<sizeof(T) == 4, uint32_t, select_t<sizeof(T) == 2, uint16_t, uint8_t>>>;

template <class T> struct real_of { using type = T; };
template <class R> struct real_of<complex_t<R>> { using type = R; };
template <class T> using real_t = typename real_of<T>::type;

// The type that arithmetic on a stored element is done in (the 'compute' column of dtypes.def).
template <class T> using compute_t = select_t<is_short_float<T>, float, T>;

#if TCU_DEVICE_CODE
TCU_FN uint32_t to_bits(float x) { return __float_as_uint(x); }
TCU_FN uint64_t to_bits(double x) { return (uint64_t)__double_as_longlong(x); }
TCU_FN float from_bits(uint32_t x) { return __uint_as_float(x); }
TCU_FN double from_bits(uint64_t x) { return __longlong_as_double((long long)x); }
TCU_FN int bool_bits(bool x) { return x; }
#else
TCU_FN uint32_t to_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
TCU_FN uint64_t to_bits(double x) { return __builtin_bit_cast(uint64_t, x); }
TCU_FN float from_bits(uint32_t x) { return __builtin_bit_cast(float, x); }
TCU_FN double from_bits(uint64_t x) { return __builtin_bit_cast(double, x); }
// 0 or 1. gcc 12 vectorizes a loop over this, and not one over a bool.
TCU_FN uint8_t bool_bits(bool x) { return __builtin_bit_cast(uint8_t, x); }
#endif

// Greatest and least finite values, and (floats) infinity and NaN.
template <class T> struct limits {
  static_assert(is_integral<T>);
  TCU_FN static constexpr T max() {
    return is_bool<T> ? T(1) : T(bits_t<T>(~bits_t<T>(0)) >> (is_signed_int<T> ? 1 : 0));
  }
  TCU_FN static constexpr T lowest() { return is_signed_int<T> ? T(-max() - 1) : T(0); }
};
template <> struct limits<float> {
  TCU_FN static constexpr float max() { return 0x1.fffffep127f; }
  TCU_FN static constexpr float lowest() { return -0x1.fffffep127f; }
  TCU_FN static float inf() { return from_bits(uint32_t(0x7f800000u)); }
  TCU_FN static float nan() { return from_bits(uint32_t(0x7fc00000u)); }
};
template <> struct limits<double> {
  TCU_FN static constexpr double max() { return 0x1.fffffffffffffp1023; }
  TCU_FN static constexpr double lowest() { return -0x1.fffffffffffffp1023; }
  TCU_FN static double inf() { return from_bits(uint64_t(0x7ff0000000000000u)); }
  TCU_FN static double nan() { return from_bits(uint64_t(0x7ff8000000000000u)); }
};

// Identities of the reductions, by compute type. max and min of nothing have none that a caller may see
// (an empty reduction is an error); inside a kernel a padding element takes these.
template <class T> TCU_FN T identity_sum() { return T{}; }
template <class T> TCU_FN T identity_prod() {
  if constexpr (is_complex<T>) return T{1, 0};
  else return T(1);
}
template <class T> TCU_FN T identity_max() {
  if constexpr (is_float<T>) return -limits<T>::inf();
  else return limits<T>::lowest();
}
template <class T> TCU_FN T identity_min() {
  if constexpr (is_float<T>) return limits<T>::inf();
  else return limits<T>::max();
}

}  // namespace tcu
