// Conversions between every pair of stored dtypes, per SIMD target. Where the target has instructions for float16 they are used;
// gcc vectorizes the bit arithmetic of bfloat16.
#include "cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tile_casts.cpp"
#include "cpu/cell.h"
#include "cpu/table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tcu::cpu::HWY_NAMESPACE {
namespace {

template <class To, class From> void cast(void *out, const void *a, const void *, const void *, int64_t n) {
  cell_t<To> *o = static_cast<cell_t<To> *>(out);
  const cell_t<From> *x = static_cast<const cell_t<From> *>(a);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = put<To>(convert<To>(get<From>(x[i])));
}

#undef TCU_HALF
#if HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)  // targets are numbered from the best
#define TCU_HALF 1
#else
#define TCU_HALF 0
#endif
#if TCU_HALF
namespace hn = hwy::HWY_NAMESPACE;

void widen_half(void *out, const void *a, const void *, const void *, int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  float *const o = static_cast<float *>(out);
  const hwy::float16_t *const x = static_cast<const hwy::float16_t *>(a);
  const int64_t lanes = int64_t(hn::Lanes(d)), whole = n / lanes * lanes;
  for (int64_t i = 0; i < whole; i += lanes) hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, x + i)), d, o + i);
  cast<float, f16_t>(o + whole, x + whole, nullptr, nullptr, n - whole);
}
void narrow_to_half(void *out, const void *a, const void *, const void *, int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  hwy::float16_t *const o = static_cast<hwy::float16_t *>(out);
  const float *const x = static_cast<const float *>(a);
  const int64_t lanes = int64_t(hn::Lanes(d)), whole = n / lanes * lanes;
  for (int64_t i = 0; i < whole; i += lanes) hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, x + i)), half, o + i);
  cast<f16_t, float>(o + whole, x + whole, nullptr, nullptr, n - whole);
}
#endif

template <DType From> void casts_from(Table &t) {
  using F = typename compute_of<From>::storage;
#define TCU_DTYPE(id, NAME, name, storage, ...) \
  if constexpr (!is_same<F, storage>) t.cast[int(From)][id] = cast<storage, F>;
#include "core/dtypes.def"
#undef TCU_DTYPE
}

void fill(Table &t) {
#define TCU_DTYPE(id, NAME, name, ...) casts_from<DType::name>(t);
#include "core/dtypes.def"
#undef TCU_DTYPE
#if TCU_HALF
  t.cast[int(DType::f16)][int(DType::f32)] = widen_half;
  t.cast[int(DType::f32)][int(DType::f16)] = narrow_to_half;
#endif
}

}  // namespace
}  // namespace tcu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcu::cpu {
HWY_EXPORT(fill);
void fill_casts(Table &t) { HWY_DYNAMIC_DISPATCH(fill)(t); }
}  // namespace tcu::cpu
#endif
