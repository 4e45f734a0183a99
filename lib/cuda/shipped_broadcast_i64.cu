#include "cuda/ship_broadcast.cuh"

namespace tcu::cuda {
void ship_broadcast_i64(ShippedTable &t) { ship_ops<int64_t>(t); }
}  // namespace tcu::cuda
