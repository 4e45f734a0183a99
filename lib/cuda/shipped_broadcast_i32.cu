#include "cuda/ship_broadcast.cuh"

namespace tcu::cuda {
void ship_broadcast_i32(ShippedTable &t) { ship_ops<int32_t>(t); }
}  // namespace tcu::cuda
