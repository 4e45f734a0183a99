// reduce.split: few kept boxes and many reduced elements, in any pattern: a whole vector, "K:8 R:2000000", "R:3136 K:64 R:32".
// The reduced boxes of a kept box are cut into parts that depend on the shape alone; each part leaves its accumulators in the
// workspace, and a second pass folds the parts in their order. So threads are busy, and the bits are the same for any
// number of them.
#include "cpu/reduce.h"
#include "cpu/rows.h"

namespace tcu::cpu {
namespace {

// Like reduce.contiguous where the fastest mode is reduced, like reduce.strided where it is kept.
void cut(Grid &g, int64_t room, int64_t row) {
  row = std::min(room, row);
  if (g.n == 0 || g.axis[0].role == Role::R || g.axis[0].extent <= row) {
    g.fill(room, [](int) { return true; });
    return;
  }
  g.set_step(0, Grid::even_step(g.axis[0].extent, row));
  for (int m = 1; m < g.n; ++m) {
    if (g.axis[m].role != Role::R) continue;
    const int64_t rows = room / g.axis[0].step;
    g.set_step(m, g.axis[m].extent < rows ? g.axis[m].extent : (rows ? rows : 1));
    break;
  }
}
constexpr ReduceCut how{cut, true, true};
bool accepts(const Problem &p, const Device &) { return parts_of(p, how) > 1; }
LaunchConfig configure(const Problem &p, const Device &) { return configure_reduce(p, how); }
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_reduce(p, how); }

}  // namespace

Kernel reduce_split() { return {"reduce.split", Family::reduce, accepts, configure, prepare, launch_reduce}; }

}  // namespace tcu::cpu
