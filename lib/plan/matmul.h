// Checks a matrix product's tensors and puts them in the form that a BLAS takes.
#pragma once
#include "plan/backend.h"

namespace tcu {

// alpha and beta stay to be set. Fails with Code::rank, dtype, shape, overlap.
Backend::Matmul make_matmul(const TensorView &c, const TensorView &a, const TensorView &b);

}  // namespace tcu
