#include "cuda/ship_general.cuh"

namespace tcu::cuda {
void ship_general_floats(ShippedTable &t) { ship_general<float>(t), ship_general<double>(t); }
}  // namespace tcu::cuda
