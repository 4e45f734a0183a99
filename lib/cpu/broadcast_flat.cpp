// broadcast.flat: 'K', one mode, out contiguous and each input contiguous or one number.
// The elements are cut into tiles, and the tiles into one contiguous range a thread. Inputs are read where they lie and
// the last step of the expression writes where the output lies, so that a single op is one loop over memory.
#include "cpu/broadcast.h"
#include "cpu/rows.h"

namespace tcu::cpu {
namespace {

bool accepts(const Problem &p, const Device &) {
  if (p.modes.size() > 1) return false;
  for (const Mode &m : p.modes)
    for (int k = 0; k <= p.n_inputs; ++k)
      if (m.stride[k] != 1 && !(k > 0 && m.stride[k] == 0)) return false;
  return true;
}
void cut(Grid &g, int64_t room) {
  for (int m = 0; m < g.n; ++m) g.set_step(m, std::min(g.axis[m].extent, room));
}
LaunchConfig configure(const Problem &p, const Device &) { return configure_broadcast(p, cut); }
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_broadcast(p, cut); }

}  // namespace

Kernel broadcast_flat() { return {"broadcast.flat", Family::broadcast, accepts, configure, prepare, launch_broadcast}; }

}  // namespace tcu::cpu
