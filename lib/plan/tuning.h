// Launch numbers that were measured, or wait to be: a table of rows, looked up by configure().
#pragma once
#include "plan/backend.h"

namespace tcu {

struct Tuning {
  const char *kernel;
  int architecture;           // 10 major + minor of the device that the row is for; 0 for any
  int bytes;                  // of the widest element; 0 for any
  int blocks_per_processor;   // in a persistent grid
};

// The first row of the table that fits, or what TCUOPS_TUNING says.
Tuning tuning(const char *kernel, const Device &device, int element_bytes);

}  // namespace tcu
