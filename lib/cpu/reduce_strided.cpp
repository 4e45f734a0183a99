// reduce.strided: "K R ...", the fastest mode is kept.
// A box is a row of kept elements by some reduced ones; rows are added onto a row of accumulators, eight at a time as a tree,
// where they lie. Threads share the kept boxes.
#include "cpu/reduce.h"
#include "cpu/rows.h"

namespace tcu::cpu {
namespace {

// Rows of at most `row` kept elements, whose accumulators stay in L1, by as many rows as the room holds.
void cut(Grid &g, int64_t room, int64_t row) {
  if (g.n == 0) return;
  const int64_t most = std::min(room, row);
  if (g.axis[0].extent <= most) {
    g.fill(room, [](int) { return true; });
    return;
  }
  g.set_step(0, Grid::even_step(g.axis[0].extent, most));
  for (int m = 1; m < g.n; ++m) {
    if (g.axis[m].role != Role::R) continue;
    const int64_t rows = room / g.axis[0].step;
    g.set_step(m, g.axis[m].extent < rows ? g.axis[m].extent : (rows ? rows : 1));
    break;
  }
}
constexpr ReduceCut how{cut, true, false};
bool accepts(const Problem &p, const Device &) { return p.modes.size() > 1 && p.modes[0].role == Role::K; }
LaunchConfig configure(const Problem &p, const Device &) { return configure_reduce(p, how); }
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_reduce(p, how); }

}  // namespace

Kernel reduce_strided() { return {"reduce.strided", Family::reduce, accepts, configure, prepare, launch_reduce}; }

}  // namespace tcu::cpu
