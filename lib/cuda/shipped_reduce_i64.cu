#include "cuda/ship_reduce.cuh"

namespace tcu::cuda {
void ship_reduce_i64(ShippedTable &t) { ship_folds<int64_t, int64_t>(t); }
}  // namespace tcu::cuda
