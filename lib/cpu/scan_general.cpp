// scan.general: any modes, any strides. One line at a time; threads share the lines.
#include "cpu/rows.h"
#include "cpu/scan.h"

namespace tcu::cpu {
namespace {

bool accepts(const Problem &, const Device &) { return true; }
void cut(Grid &g, int s, int64_t room) {
  if (g.n) g.set_step(s, std::min(g.axis[s].extent, room));
}
LaunchConfig configure(const Problem &p, const Device &) { return configure_scan(p, cut); }
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_scan(p, cut); }

}  // namespace

Kernel scan_general() { return {"scan.general", Family::scan, accepts, configure, prepare, launch_scan}; }

}  // namespace tcu::cpu
