// The registry of lib/cuda, in the order in which the planner asks (rows.cpp).
#pragma once
#include <span>

#include "plan/backend.h"

namespace tcu::cuda {

std::span<const Kernel> registry();

}  // namespace tcu::cuda
