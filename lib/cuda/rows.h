// The registry of lib/cuda, in the order in which the planner asks (rows.cpp).
#pragma once
#include <span>

#include "plan/backend.h"

namespace tcu::cuda {

std::span<const Kernel> registry();
// The row that would be chosen if the one of this `accepts` were not there.
const Kernel &row_without(Family family, bool (*accepts)(const Problem &, const Device &), const Problem &p, const Device &d);

}  // namespace tcu::cuda
