// reduce.general: any modes, any strides, no reduced mode at all.
// Every box is loaded into a tile, whatever its strides, and folded there. Threads share the kept boxes.
#include "cpu/reduce.h"
#include "cpu/rows.h"

namespace tcu::cpu {
namespace {

void cut(Grid &g, int64_t room, int64_t) {
  g.fill(room, [](int) { return true; });
}
constexpr ReduceCut how{cut, false, false};
bool accepts(const Problem &, const Device &) { return true; }
LaunchConfig configure(const Problem &p, const Device &) { return configure_reduce(p, how); }
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_reduce(p, how); }

}  // namespace

Kernel reduce_general() { return {"reduce.general", Family::reduce, accepts, configure, prepare, launch_reduce}; }

}  // namespace tcu::cpu
