// What the broadcast rows share: a row chooses how the modes are cut into boxes, the rest is the same.
#pragma once
#include "cpu/post.h"

namespace tcu::cpu {

struct BroadcastPlan {
  Stage stage;
  Grid grid;
  std::vector<DType> inputs;  // of the program: the problem's, then out where it is read
  bool stream;                // the output goes past the caches
};

std::shared_ptr<const void> prepare_broadcast(const Problem &p, void (*cut)(Grid &, int64_t room));
void launch_broadcast(const Plan &plan, const Execution &e, Backend &backend);
LaunchConfig configure_broadcast(const Problem &p, void (*cut)(Grid &, int64_t room));

}  // namespace tcu::cpu
