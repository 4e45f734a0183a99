#include "cuda/ship_reduce.cuh"

namespace tcu::cuda {
namespace {
template <class In>
void ship_moments(ShippedTable &t) {
  using A = compute_t<In>;
  ship_fold<fold::var, In, A, In, false>(t);  // of std too
  ship_fold<fold::logsumexp, In, A, In, false>(t);
  ship_channels<fold::var, A, In, Identity<In>>(t, Expr::identity());
  ship_tiles<fold::var, A, In, Identity<In>>(t, Expr::identity());
}
}  // namespace
void ship_reduce_moments(ShippedTable &t) {
  ship_moments<float>(t);
  ship_moments<double>(t);
  ship_moments<f16_t>(t);
  ship_moments<bf16_t>(t);
}
}  // namespace tcu::cuda
