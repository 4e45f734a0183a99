#include "cuda/ship_scan.cuh"

namespace tcu::cuda {
void ship_scan_i32(ShippedTable &t) {
  ship_scans<int32_t, int64_t>(t);
  ship_marks<int32_t>(t);
}
}  // namespace tcu::cuda
