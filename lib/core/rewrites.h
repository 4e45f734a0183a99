// A problem that is another one, or two.
#pragma once
#include "core/problem.h"

namespace tcu {

// An empty reduction that has a value is a fill: the same request as a broadcast of that constant. So is the position of an extremum over
// modes of extent 1, which is 0.
bool is_empty_reduction(const Problem &p);
bool is_first_position(const Problem &p);
Problem as_fill(const Problem &reduction);
// A reduction over modes of extent 1, which leaves each element what it is: the same request as a broadcast.
bool is_map(const Problem &p);
Problem as_map(const Problem &reduction);
// A scan may be run as two requests, the map of its elements to out and a scan of out in place, where out holds what the map leaves.
bool holds_elements(const Problem &scan);
Problem as_map_to_out(const Problem &scan);
Problem as_scan_of_out(const Problem &scan);
// So may a map, where it is not in place: a copy of input k to out, and the map that finds it there.
Problem as_copy_to_out(const Problem &map, int k);
Problem as_map_of_out(const Problem &map, int k);

// And a reduction to one result, where there is room for the results as its first input has them: to the room, and a map of that to out. The room has
// out's type, or if out is read the accumulator's, so that each result is rounded once; alpha is the first one's, or with beta the second's.
DType room_dtype(const Problem &reduction);
Problem as_reduction_to_room(const Problem &reduction);
Problem as_map_of_room(const Problem &reduction);

}  // namespace tcu
