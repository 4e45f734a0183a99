// Params (device/params.cuh) filled for one launch.
#pragma once
#include <memory>

#include "cuda/function.h"
#include "device/params.cuh"

namespace tcu::cuda {

// What prepare() keeps for launch(), with the Params of its size behind it, where all that a plan knows of them is in place.
struct Prepared {
  Function function;
  ParamSize size = ParamSize::small;
};

ParamSize size_for(const Problem &p);
// A Prepared, as prepare() returns it.
std::shared_ptr<const void> prepared(const Function &function, ParamSize size, const Problem &p);
// Fills the rest of the Params and launches. config: the plan's, or that of one of the launches that it is made of.
void launch_plan(const Prepared &prepared, const Plan &plan, const LaunchConfig &config, const Execution &execution);

}  // namespace tcu::cuda
