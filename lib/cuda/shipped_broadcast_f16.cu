#include "cuda/ship_broadcast.cuh"

namespace tcu::cuda {
void ship_broadcast_f16(ShippedTable &t) { ship_ops<f16_t>(t); }
}  // namespace tcu::cuda
