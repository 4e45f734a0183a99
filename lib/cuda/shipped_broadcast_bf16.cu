#include "cuda/ship_broadcast.cuh"

namespace tcu::cuda {
void ship_broadcast_bf16(ShippedTable &t) { ship_ops<bf16_t>(t); }
}  // namespace tcu::cuda
