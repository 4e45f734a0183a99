#include "cuda/ship_general.cuh"

namespace tcu::cuda {
void ship_general_i64(ShippedTable &t) { ship_general<int64_t>(t); }
}  // namespace tcu::cuda
