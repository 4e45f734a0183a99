// The registry rows of the CPU backend, each defined in the file of its name.
#pragma once
#include "plan/backend.h"

namespace tcu::cpu {

Kernel broadcast_flat();
Kernel broadcast_transpose();
Kernel broadcast_general();
Kernel reduce_split();
Kernel reduce_small();
Kernel reduce_contiguous();
Kernel reduce_strided();
Kernel reduce_general();
Kernel scan_split();
Kernel scan_contiguous();
Kernel scan_strided();
Kernel scan_general();
Kernel scan_matmulscan();
Kernel segmented_general();

}  // namespace tcu::cpu
