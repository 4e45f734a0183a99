#include "cuda/ship_scan.cuh"

namespace tcu::cuda {
void ship_scan_halves(ShippedTable &t) { ship_scans<f16_t, float>(t), ship_scans<bf16_t, float>(t); }
}  // namespace tcu::cuda
