#include "cuda/ship.cuh"
#include "kernels/scan_across.cuh"
#include "kernels/scan_along.cuh"
#include "kernels/scan_lookback.cuh"

namespace tcu::cuda {
namespace {

template <class Op_, class In, class Acc, class Out>
void ship_one(ShippedTable &t, const char *op) {
  const auto arguments = {std::string("fold::") + op, text_of<Acc>(), text_of<Out>(), std::string("int32_t")};
  const auto add = [&](const char *body, const void *kernel) {
    t.add(body, arguments, Expr::identity(), {dtype_of<In>::value}, kernel);
  };
  add("scan_along", kernel_address<&entry<scan_along<Identity<In>, Op_, Acc, Out, int32_t>>>());
  add("scan_across", kernel_address<&entry<scan_across<Identity<In>, Op_, Acc, Out, int32_t>>>());
  add("scan_lookback", kernel_address<&entry<scan_lookback<Identity<In>, Op_, Acc, Out, int32_t>>>());
}
template <class In, class Sum>
void ship_ops(ShippedTable &t) {
  using T = compute_t<In>;
  using Out = stored_t<In, Sum>;
  ship_one<fold::sum, In, Sum, Out>(t, "sum");
  ship_one<fold::max, In, T, In>(t, "max");
  ship_one<fold::prod, In, Sum, Out>(t, "prod");
  ship_one<fold::min, In, T, In>(t, "min");
}

}  // namespace

void ship_scan(ShippedTable &t) {
  ship_ops<float, float>(t), ship_ops<double, double>(t);
  ship_ops<f16_t, float>(t), ship_ops<bf16_t, float>(t);
  ship_ops<int32_t, int64_t>(t), ship_ops<int64_t, int64_t>(t);
}

}  // namespace tcu::cuda
