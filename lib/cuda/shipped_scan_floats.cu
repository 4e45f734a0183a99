#include "cuda/ship_scan.cuh"

namespace tcu::cuda {
void ship_scan_floats(ShippedTable &t) { ship_scans<float, float>(t), ship_scans<double, double>(t); }
}  // namespace tcu::cuda
