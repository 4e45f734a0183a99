#include "cuda/ship_reduce.cuh"

namespace tcu::cuda {
namespace {
// What is larger than a float of 8 bits can say is the rule for sums: they go to float32.
template <class T>
void ship_float8(ShippedTable &t) {
  ship_fold<fold::sum, T, float, float, false>(t, "sum");
  ship_fold<fold::max, T, float, T, false>(t, "max");
  ship_fold<fold::min, T, float, T, false>(t, "min");
  ship_tcu<T, float>(t);
}
}  // namespace

void ship_reduce_float8(ShippedTable &t) { ship_float8<f8e4m3_t>(t), ship_float8<f8e5m2_t>(t); }
}  // namespace tcu::cuda
