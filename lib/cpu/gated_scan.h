// Scans with a gate: a flag that says whether a segment begins, or the factor of a recurrence.
#pragma once
#include "core/op.h"

namespace tcu::cpu {

// Scans `rows` rows of `lanes` neighbours each; carry[lanes] goes in and out. gate: as many of Bool, or of a recurrence's accumulator.
// out may be src or gate.
using GatedScan = void (*)(void *out, const void *gate, const void *src, int64_t lanes, int64_t rows, void *carry, const void *init,
                           bool exclusive);
GatedScan gated_scan_of(ReduceOp op, DType acc);

}  // namespace tcu::cpu
