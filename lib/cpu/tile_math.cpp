// The functions of libm that networks use most, for float32, per SIMD target: over the scalar rows of tile_default.cpp.
#include "cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tile_math.cpp"
#include <cmath>

#include "cpu/cell.h"
#include "cpu/table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tcu::cpu::HWY_NAMESPACE {
namespace {

#include "cpu/math-inl.h"
#include "cpu/tile_loops-inl.h"

// What the vector loop cannot do is done over by libm, in a second look at the arguments: none, as a rule.
template <int quadrant> void sine(void *out, const void *a, const void *, const void *, int64_t n) {
  constexpr float far = 0x1p20f;
  constexpr int64_t kPiece = 256;  // out may be a: the arguments are looked at first
  float *o = static_cast<float *>(out);
  const float *x = static_cast<const float *>(a);
  for (; n > 0; n -= kPiece, o += kPiece, x += kPiece) {
    const int64_t m = n < kPiece ? n : kPiece;
    uint32_t beyond = 0;
    for (int64_t i = 0; i < m; ++i) beyond |= uint32_t(!(__builtin_fabsf(x[i]) <= far));
    if (beyond) {
      for (int64_t i = 0; i < m; ++i) o[i] = quadrant ? ::cosf(x[i]) : ::sinf(x[i]);
      continue;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < m; ++i) {
      const double v = sin_cos(x[i], quadrant);
      o[i] = quadrant == 0 && x[i] == 0 ? x[i] : float(v);
    }
  }
}
// exp2(y log2 x); log2 within 2^-40, so that the exponent, at most 150, is within 2^-32.
void power(void *out, const void *a, const void *b, const void *, int64_t n) {
  constexpr int64_t kPiece = 256;
  float *o = static_cast<float *>(out);
  const float *x = static_cast<const float *>(a), *y = static_cast<const float *>(b);
  for (; n > 0; n -= kPiece, o += kPiece, x += kPiece, y += kPiece) {
    const int64_t m = n < kPiece ? n : kPiece;
    constexpr float max = limits<float>::max();
    uint32_t beyond = 0;
    for (int64_t i = 0; i < m; ++i) beyond |= uint32_t(!(x[i] > 0)) | uint32_t(!(x[i] <= max)) | uint32_t(!(__builtin_fabsf(y[i]) <= max));
    if (beyond) {
      for (int64_t i = 0; i < m; ++i) o[i] = ::powf(x[i], y[i]);
      continue;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < m; ++i) {
      const Log l = split_log(x[i]);
      o[i] = float(exp2_in(clamped(y[i] * mad(l.mantissa, kLog2e, l.exponent), 1000)));
    }
  }
}

void fill(Table &t) {
  constexpr int f32 = int(DType::f32);
#define ONE(op_name, F) t.op[int(Op::op_name)][f32] = loop1<F, float>;
  ONE(exp, Exp) ONE(exp2, Exp2) ONE(exp10, Exp10) ONE(expm1, Expm1)
  ONE(log, Logn) ONE(log2, Log2) ONE(log10, Log10) ONE(log1p, Log1p)
  ONE(tanh, Tanh) ONE(sinh, Sinh) ONE(cosh, Cosh) ONE(erf, Erf) ONE(erfc, Erfc)
  ONE(sigmoid, Sigmoid) ONE(softplus, Softplus) ONE(logsigmoid, Logsigmoid)
  ONE(silu, Silu) ONE(gelu, Gelu) ONE(gelu_tanh, GeluTanh) ONE(mish, Mish) ONE(elu, Elu) ONE(selu, Selu)
#undef ONE
  t.op[int(Op::gelu_grad)][f32] = loop2<GeluGrad, float>;
  t.op[int(Op::silu_grad)][f32] = loop2<SiluGrad, float>;
  t.op[int(Op::softplus_grad)][f32] = loop2<SoftplusGrad, float>;
  t.op[int(Op::sin)][f32] = sine<0>;
  t.op[int(Op::cos)][f32] = sine<1>;
  t.op[int(Op::pow)][f32] = power;
}

}  // namespace
}  // namespace tcu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcu::cpu {
HWY_EXPORT(fill);
void fill_math(Table &t) { HWY_DYNAMIC_DISPATCH(fill)(t); }
}  // namespace tcu::cpu
#endif
