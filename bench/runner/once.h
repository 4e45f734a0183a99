// One call of a case for a profiler of launches (ncu --profile-from-start off), by the driver, which is opened at run time.
#pragma once
#include <functional>

#include "measure.h"

namespace bench {

// Seconds of a call where the profiler does not look. The first may compile and load.
double seconds_of(Clock &clock, const std::function<void(int64_t)> &call);

// Calls, where `seconds` is what that takes, once between two launches of an empty kernel, tcu_bench_mark, whose grid has as many blocks
// as row->mark says: 1 for the first row of a process, 2 for the next. Between them lie the launches of that row and no others. A row whose
// call takes longer than `most` (0.2 s at most) has no mark, and its note says so: a profiler repeats each launch several times. Throws
// where there is no driver.
void run_once(Clock &clock, const std::function<void(int64_t)> &call, double seconds, double most, Row *row);

}  // namespace bench
