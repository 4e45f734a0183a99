// broadcast.transpose: an operand whose fastest mode is not the output's (a permuted or transposed input).
// Boxes are square in those two modes, so that every cache line that a box touches is used up by it, on either side; the
// reordering happens inside L1.
#include <cstdlib>

#include "cpu/broadcast.h"
#include "cpu/rows.h"

namespace tcu::cpu {
namespace {

// The mode along which some input is contiguous while it is not along mode 0; -1 if there is none.
int other_mode(int n, const auto &mode_at, int n_inputs) {
  for (int k = 1; k <= n_inputs; ++k) {
    if (std::llabs(mode_at(0).stride[k]) <= 1) continue;
    for (int m = 1; m < n; ++m)
      if (std::llabs(mode_at(m).stride[k]) == 1) return m;
  }
  return -1;
}
bool accepts(const Problem &p, const Device &) {
  const int m = p.modes.size() < 2 ? -1 : other_mode(p.modes.size(), [&](int i) { return p.modes[i]; }, p.n_inputs);
  // Worth it only where both modes are longer than a cache line holds.
  return m > 0 && p.modes[0].extent >= 16 && p.modes[m].extent >= 16;
}
void cut(Grid &g, int64_t room) {
  const int m = other_mode(g.n, [&](int i) -> const Grid::Axis & { return g.axis[i]; }, g.n_operands - 1);
  const int64_t side = room >= 1024 ? 32 : 16;
  g.set_step(0, Grid::even_step(g.axis[0].extent, side));
  g.set_step(m, Grid::even_step(g.axis[m].extent, room / g.axis[0].step));
}
LaunchConfig configure(const Problem &p, const Device &) { return configure_broadcast(p, cut); }
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_broadcast(p, cut); }

}  // namespace

Kernel broadcast_transpose() { return {"broadcast.transpose", Family::broadcast, accepts, configure, prepare, launch_broadcast}; }

}  // namespace tcu::cpu
