// Conversions between every pair of stored dtypes, per SIMD target. gcc vectorizes the bit arithmetic of the 16-bit floats.
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
