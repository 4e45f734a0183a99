#include "cuda/ship_scan.cuh"

namespace tcu::cuda {
void ship_scan_integers(ShippedTable &t) {
  ship_scans<int32_t, int64_t>(t), ship_scans<int64_t, int64_t>(t);
  ship_marks<int32_t>(t), ship_marks<int64_t>(t);
}
}  // namespace tcu::cuda
