// Is a result right? Sampled outputs against the same fold in float64 on the host.
#pragma once
#include "cases.h"
#include "data.h"
#include "expression.h"

namespace bench {

struct Samples {
  std::vector<std::vector<int64_t>> indices;  // of outputs, 0-based
  std::vector<int64_t> positions;             // the same, in the dense output
};

// A few hundred outputs, the first and the last among them, fewer where each takes long to recompute.
Samples choose_samples(const Case &c);

// Compares out at the samples. origins: where in the pool each input's buffer begins. Sets row's correct and error:
// ||out - ref|| / ||ref|| over the samples, where a sum's ||ref|| is at least that of its summands (a sum of signed
// numbers may be near zero by chance); for max, min and the arg-reductions anything but equality is an error of 1.
void check(const Case &c, const Expression &e, const Samples &samples, const Pool &pool,
           const std::vector<int64_t> &origins, const std::vector<double> &out, Row *row);

}  // namespace bench
