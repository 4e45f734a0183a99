#include "cuda/ship_broadcast.cuh"

namespace tcu::cuda {
void ship_broadcast_integers(ShippedTable &t) {
  ship_ops<int32_t>(t);
  ship_ops<int64_t>(t);
}
}  // namespace tcu::cuda
