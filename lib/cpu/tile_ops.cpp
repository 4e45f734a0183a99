// The rows of ops.def that vectorize, for the real dtypes, per SIMD target: all but those whose result rule says that
// they are functions of libm, and of these the ones that are plain arithmetic.
#include "cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tile_ops.cpp"
#include "cpu/cell.h"
#include "cpu/table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tcu::cpu::HWY_NAMESPACE {
namespace {

#include "cpu/tile_loops-inl.h"

template <class F, int arity, uint8_t kinds, Result rule> void row(Table &t, int id) {
#define X(d) if constexpr (in_domain<DType::d>(kinds, rule)) enter<F, arity, rule, DType::d>(t, id);
  if constexpr (rule != Result::Float && rule != Result::FloatReal) { TCU_REAL_CELLS(X) }
#undef X
}
template <class F, int arity> void arithmetic(Table &t, Op op) {
  enter<F, arity, Result::Float, DType::f32>(t, int(op));
  enter<F, arity, Result::Float, DType::f64>(t, int(op));
}

void fill(Table &t) {
#define TCU_OP(id, name, arity, dom, result, ...) row<fn::name, arity, domain::dom, Result::result>(t, id);
#include "core/ops.def"
#undef TCU_OP
#define A(name, arity) arithmetic<fn::name, arity>(t, Op::name);
  A(div, 2) A(inv, 1) A(sqrt, 1) A(rsqrt, 1) A(deg2rad, 1) A(rad2deg, 1) A(lerp, 3)
  A(hardsigmoid, 1) A(softsign, 1) A(hardswish, 1) A(leaky_relu, 2)
  A(sigmoid_grad, 2) A(tanh_grad, 2) A(elu_grad, 2) A(selu_grad, 2) A(hardsigmoid_grad, 2) A(softsign_grad, 2)
  A(hardswish_grad, 2) A(leaky_relu_grad, 3)
#undef A
}

}  // namespace
}  // namespace tcu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcu::cpu {
HWY_EXPORT(fill);
void fill_ops(Table &t) { HWY_DYNAMIC_DISPATCH(fill)(t); }
}  // namespace tcu::cpu
#endif
