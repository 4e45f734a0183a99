// The launch of kernels/mark_segments.cuh.
#pragma once
#include "plan/backend.h"

namespace tcu::cuda {

void mark_segments(const Backend::SegmentMarks &m, const Device &device, void *stream);

}  // namespace tcu::cuda
