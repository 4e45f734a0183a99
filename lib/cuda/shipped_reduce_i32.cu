#include "cuda/ship_reduce.cuh"

namespace tcu::cuda {
void ship_reduce_i32(ShippedTable &t) { ship_folds<int32_t, int64_t>(t); }
}  // namespace tcu::cuda
