// Is a result right? Sampled outputs against the same fold in float64 on the host.
#pragma once
#include "cases.h"
#include "data.h"
#include "expression.h"

namespace bench {

// What some of a case's outputs should be.
struct Reference {
  std::vector<int64_t> positions;  // of them in the dense output
  std::vector<double> values;      // there; of a case with two results those of the second follow
  std::vector<double> magnitudes;  // of a sum or a mean: the same of magnitudes
  double scale = 0;                // squared norm that a difference is compared with
  double tolerance = 0;
  double serial_tolerance = 0;     // of a row that adds a line's elements one after another
  bool is_exact = false;           // anything but equality is an error of 1: max, min and the arg-reductions
};

// The first output, the last and others, up to `most`, fewer where they would take more than about `work` elements to recompute.
// origins: where in the pool each input's buffer begins. Throws std::invalid_argument for a fold that it does not know.
Reference make_reference(const Case &c, const Expression &e, const Pool &pool, const std::vector<int64_t> &origins, int64_t most,
                         int64_t work);

// Compares out, what is at the reference's positions. Sets row's correct and error: ||out - ref|| / ||ref||, where a sum's or a
// mean's ||ref|| is at least that of its summands (a sum of signed numbers may be near zero by chance); and its error_over_magnitudes.
void check(const Reference &reference, const std::vector<double> &out, Row *row);

}  // namespace bench
