// Every row of ops.def for every compute dtype, one loop each, at the compiler's baseline. What is worth more than that
// (all that is not a call into libm, for real dtypes) is compiled again per SIMD target in tile_ops.cpp.
#include "cpu/cell.h"
#include "cpu/table.h"

namespace tcu::cpu {
namespace {

#include "cpu/tile_loops-inl.h"

template <class F, int arity, uint8_t kinds, Result rule> void row(Table &t, int id) {
  // Rows that tile_ops.cpp overrides for all real dtypes are left to it.
  constexpr bool libm = rule == Result::Float || rule == Result::FloatReal;
#define X(d) if constexpr (in_domain<DType::d>(kinds, rule) && libm) enter<F, arity, rule, DType::d>(t, id);
  TCU_REAL_CELLS(X)
#undef X
#define X(d) if constexpr (in_domain<DType::d>(kinds, rule)) enter<F, arity, rule, DType::d>(t, id);
  TCU_COMPLEX_CELLS(X)
#undef X
}

}  // namespace

void fill_default_ops(Table &t) {
#define TCU_OP(id, name, arity, dom, result, ...) row<fn::name, arity, domain::dom, Result::result>(t, id);
#include "core/ops.def"
#undef TCU_OP
}

}  // namespace tcu::cpu
