#include "cuda/ship_reduce.cuh"
#include "kernels/reduce_tensor.cuh"

namespace tcu::cuda {
// Sums on tensor cores.
template <class In, class Acc, class Out>
void ship_tensor(ShippedTable &t) {
  for (const bool dense : {false, true})
    t.add("reduce_tensor", {"fold::sum", text_of<Acc>(), text_of<Out>(), "int32_t", dense ? "true" : "false"}, Expr::identity(),
          {dtype_of<In>::value},
          dense ? kernel_address<&entry<reduce_tensor<Identity<In>, fold::sum, Acc, Out, int32_t, true>>>()
                : kernel_address<&entry<reduce_tensor<Identity<In>, fold::sum, Acc, Out, int32_t, false>>>());
}

void ship_reduce_halves(ShippedTable &t) {
  ship_folds<f16_t, float>(t);
  ship_folds<bf16_t, float>(t);
  ship_fold<fold::sum, f16_t, float, float, false>(t, "sum");
  ship_fold<fold::sum, bf16_t, float, float, false>(t, "sum");
  ship_tensor<f16_t, float, f16_t>(t);
  ship_tensor<bf16_t, float, bf16_t>(t);
  ship_sum_of<fn::abs2, Op::abs2, f16_t>(t);
  ship_sum_of<fn::abs2, Op::abs2, bf16_t>(t);
}
}  // namespace tcu::cuda
