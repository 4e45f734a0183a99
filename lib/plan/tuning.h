// Launch numbers that were measured, or wait to be: a table of rows, looked up by configure().
#pragma once
#include <string_view>

#include "plan/backend.h"

namespace tcu {

struct Tuning {
  std::string_view kernel;
  int architecture;           // 10 major + minor of the device that the row is for; 0 for any
  int bytes;                  // of the widest element, or of one access where the kernel asks by that; 0 for any
  int blocks_per_processor;   // in a persistent grid
  int factor = 0;             // what the kernel's file says, broadcast.sliding_*'s steps of a thread for one; 0: the kernel has none
  int block = 0;              // threads of a block, where that is not the same for all kernels
  int least = 1;              // that the factor can be
};

// The first row of the table that fits, with what TCUOPS_TUNING says in place of its numbers.
Tuning tuning(std::string_view kernel, const Device &device, int bytes);

}  // namespace tcu
