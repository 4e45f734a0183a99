#include "cuda/ship_reduce.cuh"

namespace tcu::cuda {
namespace {
// What is larger than a float of 8 bits can say is the rule for sums: they go to float32.
template <class T>
void ship_sums(ShippedTable &t) {
  ship_fold<fold::sum, T, float, float, false>(t);
  ship_tcu<T, float>(t);
}
}  // namespace

void ship_reduce_bytes(ShippedTable &t) {
  ship_fold<fold::any, bool, bool, bool, false>(t);
  ship_fold<fold::all, bool, bool, bool, false>(t);
  ship_fold<fold::count, bool, int64_t, int64_t, false>(t);
  ship_fold<fold::sum, bool, int64_t, int64_t, false>(t);
  ship_fold<fold::sum, uint8_t, uint64_t, uint64_t, false>(t);
  ship_fold<fold::sum, int8_t, int64_t, int64_t, false>(t);
  ship_tcu<uint8_t, uint64_t>(t);
  ship_tcu<int8_t, int64_t>(t);
  ship_fold<fold::max, uint8_t, uint8_t, uint8_t, false>(t);
  ship_fold<fold::max, int8_t, int8_t, int8_t, false>(t);
  ship_sums<f8e4m3_t>(t), ship_sums<f8e5m2_t>(t);
}
}  // namespace tcu::cuda
