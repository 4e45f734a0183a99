#include "cuda/ship_broadcast.cuh"

namespace tcu::cuda {
void ship_broadcast_f32(ShippedTable &t) { ship_ops<float>(t); }
}  // namespace tcu::cuda
