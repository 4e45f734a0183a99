#include "cuda/ship_scan.cuh"

namespace tcu::cuda {
void ship_scan_i64(ShippedTable &t) {
  ship_scans<int64_t, int64_t>(t);
  ship_marks<int64_t>(t);
}
}  // namespace tcu::cuda
