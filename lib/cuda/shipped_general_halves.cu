#include "cuda/ship_general.cuh"

namespace tcu::cuda {
void ship_general_halves(ShippedTable &t) { ship_general<f16_t>(t), ship_general<bf16_t>(t); }
}  // namespace tcu::cuda
