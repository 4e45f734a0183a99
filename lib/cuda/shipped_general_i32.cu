#include "cuda/ship_general.cuh"

namespace tcu::cuda {
void ship_general_i32(ShippedTable &t) { ship_general<int32_t>(t); }
}  // namespace tcu::cuda
