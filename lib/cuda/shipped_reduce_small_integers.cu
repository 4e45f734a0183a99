#include "cuda/ship_reduce.cuh"

namespace tcu::cuda {
void ship_reduce_small_integers(ShippedTable &t) {
  ship_fold<fold::any, bool, bool, bool, false>(t, "any");
  ship_fold<fold::all, bool, bool, bool, false>(t, "all");
  ship_fold<fold::count, bool, int64_t, int64_t, false>(t, "count");
  ship_fold<fold::sum, bool, int64_t, int64_t, false>(t, "sum");
  ship_fold<fold::sum, uint8_t, uint64_t, uint64_t, false>(t, "sum");
  ship_fold<fold::sum, int8_t, int64_t, int64_t, false>(t, "sum");
  ship_tcu<uint8_t, uint64_t>(t);
  ship_tcu<int8_t, int64_t>(t);
  ship_fold<fold::max, uint8_t, uint8_t, uint8_t, false>(t, "max");
  ship_fold<fold::max, int8_t, int8_t, int8_t, false>(t, "max");
}
}  // namespace tcu::cuda
