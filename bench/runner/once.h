// One call of a case for a profiler of launches (ncu --profile-from-start off), by the driver, which is opened at run time.
#pragma once
#include <functional>

#include "measure.h"

namespace bench {

// Calls where the profiler does not look, until nothing is left to compile or load; then once between two launches of an empty kernel,
// tcu_bench_mark, whose grid has as many blocks as row->mark says: 1 for the first row of a process, 2 for the next. Between them lie
// the launches of that row and no others. A row whose call takes longer than 0.2 s has no mark, and its note says so. Throws where there
// is no driver.
void run_once(Clock &clock, const std::function<void(int64_t)> &call, Row *row);

}  // namespace bench
