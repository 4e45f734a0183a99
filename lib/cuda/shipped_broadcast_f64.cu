#include "cuda/ship_broadcast.cuh"

namespace tcu::cuda {
void ship_broadcast_f64(ShippedTable &t) { ship_ops<double>(t); }
}  // namespace tcu::cuda
