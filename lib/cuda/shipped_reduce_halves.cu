#include "cuda/ship_reduce.cuh"

namespace tcu::cuda {
void ship_reduce_halves(ShippedTable &t) {
  ship_folds<f16_t, float>(t);
  ship_folds<bf16_t, float>(t);
  ship_fold<fold::sum, f16_t, float, float, false>(t);
  ship_fold<fold::sum, bf16_t, float, float, false>(t);
  ship_tcu_anywhere<f16_t, float, f16_t>(t), ship_tcu_anywhere<f16_t, float, float>(t);
  ship_tcu_anywhere<bf16_t, float, bf16_t>(t), ship_tcu_anywhere<bf16_t, float, float>(t);
  ship_sum_of<fn::abs2, Op::abs2, f16_t>(t);
  ship_sum_of<fn::abs2, Op::abs2, bf16_t>(t);
}
}  // namespace tcu::cuda
