// The matrix product of whatever BLAS this machine has, opened when the first product is asked for.
#pragma once
#include "plan/backend.h"

namespace tcu::cpu {

void matmul(const Backend::Matmul &m);

}  // namespace tcu::cpu
