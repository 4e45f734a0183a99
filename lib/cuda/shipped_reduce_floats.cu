#include "cuda/ship_reduce.cuh"

namespace tcu::cuda {
void ship_reduce_floats(ShippedTable &t) {
  ship_folds<float, float>(t);
  ship_folds<double, double>(t);
  ship_tcu_segmented<double, double, double>(t);
  ship_sum_of<fn::abs2, Op::abs2, float>(t);
  ship_sum_of<fn::abs, Op::abs, float>(t);
}
}  // namespace tcu::cuda
