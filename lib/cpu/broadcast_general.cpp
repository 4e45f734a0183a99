// broadcast.general: any modes, any strides, zero and negative ones too.
// Boxes are filled from the fastest mode of the output on, over as many modes as it takes; operands that lie otherwise are
// gathered into their tile, and an operand that does not change from box to box is gathered once.
#include "cpu/broadcast.h"
#include "cpu/rows.h"

namespace tcu::cpu {
namespace {

bool accepts(const Problem &, const Device &) { return true; }
void cut(Grid &g, int64_t room) {
  g.fill(room, [](int) { return true; });
}
LaunchConfig configure(const Problem &p, const Device &) { return configure_broadcast(p, cut); }
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_broadcast(p, cut); }

}  // namespace

Kernel broadcast_general() { return {"broadcast.general", Family::broadcast, accepts, configure, prepare, launch_broadcast}; }

}  // namespace tcu::cpu
