// scan.contiguous: "S ...", the scanned mode is the fastest.
// A box is a piece of one line, or several whole lines. Inside a line, groups of elements are scanned among themselves
// before they take the carry. Threads share the lines.
#include "cpu/rows.h"
#include "cpu/scan.h"

namespace tcu::cpu {
namespace {

bool accepts(const Problem &p, const Device &) { return p.modes.size() > 0 && p.modes[0].role == Role::S; }
void cut(Grid &g, int, int64_t room) {
  g.fill(room, [](int) { return true; });
}
LaunchConfig configure(const Problem &p, const Device &) { return configure_scan(p, cut); }
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_scan(p, cut); }

}  // namespace

Kernel scan_contiguous() { return {"scan.contiguous", Family::scan, accepts, configure, prepare, launch_scan}; }

}  // namespace tcu::cpu
