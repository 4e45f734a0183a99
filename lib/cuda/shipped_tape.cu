// What runs maps that no function was compiled for: of all ops and real dtypes.
#define TCU_TAPE_OPS
#include "cuda/ship.cuh"
#include "kernels/broadcast_tape.cuh"

namespace tcu::cuda {
namespace {

template <class Index>
void ship(ShippedTable &t) {
  static constexpr std::string_view arguments[] = {text_of<bool>, text_of<bool>, text_of<Index>};
  using Body = broadcast_tape<Identity<bool>, bool, bool, Index>;
  t.add("broadcast_tape", arguments, Expr::identity(), dtypes_of<Types<bool>>, kernel_address<&entry<Body, ParamsTape>>(), 0, ParamSize::tape);
}

}  // namespace

void ship_tape(ShippedTable &t) { ship<int32_t>(t), ship<int64_t>(t); }

}  // namespace tcu::cuda
