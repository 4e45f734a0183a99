// Params (device/params.cuh) filled for one launch.
#pragma once
#include <memory>

#include "cuda/function.h"
#include "device/params.cuh"

namespace tcu::cuda {

// What prepare() keeps for launch().
struct Prepared {
  Function function;
  ParamSize size = ParamSize::small;
  int selector = 0;
  std::vector<Parameter> parameters;
};

ParamSize size_for(const Problem &p, size_t n_parameters);
// Fills Params of the prepared size and launches. config: the plan's, or that of one of the launches that it is made of.
void launch_plan(const Prepared &prepared, const Plan &plan, const LaunchConfig &config, const Execution &execution);

}  // namespace tcu::cuda
