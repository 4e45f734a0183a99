// broadcast.general: any modes, any strides, zero and negative ones too.
// Boxes are filled from the fastest mode of the output on, over as many modes as it takes; operands that lie otherwise are
// gathered into their tile, and an operand that does not change from box to box is gathered once.
#include "cpu/broadcast.h"
#include "cpu/rows.h"

namespace tcu::cpu {
namespace {

bool accepts(const Problem &, const Device &) { return true; }
// A long row along which an operand is one number makes a box alone: the number is then repeated for a piece only. 784 float32:
// 1.0 to 1.4 ms for 100 MB, two rows a box 1.4.
void cut(Grid &g, int64_t room) {
  bool alone = false;
  for (int k = 1; g.n > 0 && k < g.n_operands; ++k) alone |= g.axis[0].stride[k] == 0 && g.axis[0].extent >= room / 3;
  g.fill(room, [&](int m) { return m == 0 || !alone; });
}
LaunchConfig configure(const Problem &p, const Device &) { return configure_broadcast(p, cut); }
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_broadcast(p, cut); }

}  // namespace

Kernel broadcast_general() { return {"broadcast.general", Family::broadcast, accepts, configure, prepare, launch_broadcast}; }

}  // namespace tcu::cpu
