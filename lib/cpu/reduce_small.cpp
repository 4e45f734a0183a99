// reduce.small: "R K ...", many short segments side by side.
// A box is as many segments as fill a tile. Whole vectors of segments are folded together (short_segments-inl.h), so that no loop
// is as short as a segment. Results lie where they belong as soon as they are folded. Threads share the kept boxes.
#include "cpu/reduce.h"
#include "cpu/rows.h"

namespace tcu::cpu {
namespace {

void cut(Grid &g, int64_t room, int64_t) {
  g.fill(room, [](int) { return true; });
}
constexpr ReduceCut how{cut, true, false};
bool accepts(const Problem &p, const Device &) {
  return p.modes.size() > 0 && p.modes[0].role == Role::R && p.modes[0].extent < 64;
}
LaunchConfig configure(const Problem &p, const Device &) { return configure_reduce(p, how); }
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_reduce(p, how); }

}  // namespace

Kernel reduce_small() { return {"reduce.small", Family::reduce, accepts, configure, prepare, launch_reduce}; }

}  // namespace tcu::cpu
