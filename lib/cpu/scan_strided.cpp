// scan.strided: "K S ...", kept elements lie inside the scanned mode.
// A box is a row of lanes by some steps of S; each lane has a carry, and all lanes take a step together. Threads share the
// rows of lanes.
#include "cpu/rows.h"
#include "cpu/scan.h"

namespace tcu::cpu {
namespace {

bool accepts(const Problem &p, const Device &) { return scanned_mode(p) > 0; }
// Lanes take at most a quarter of the room, so that a box has some steps of S in it.
void cut(Grid &g, int s, int64_t room) {
  const int64_t lanes = g.fill(room / 4, [s](int m) { return m < s; });
  const int64_t steps = room / lanes;
  if (g.axis[s].extent > steps) return g.set_step(s, steps);
  g.set_step(s, g.axis[s].extent);
  g.fill(room / (lanes * (g.axis[s].extent ? g.axis[s].extent : 1)), [s](int m) { return m > s; });
}
LaunchConfig configure(const Problem &p, const Device &) { return configure_scan(p, cut); }
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_scan(p, cut); }

}  // namespace

Kernel scan_strided() { return {"scan.strided", Family::scan, accepts, configure, prepare, launch_scan}; }

}  // namespace tcu::cpu
