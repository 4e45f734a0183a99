#include "cuda/mark_segments.h"

#include <algorithm>

#include "cuda/function.h"
#include "device/params.cuh"

namespace tcu::cuda {

void mark_segments(const Backend::SegmentMarks &m, const Device &device, void *stream) {
  Instance f;
  f.body = "mark_segments", f.arguments = info(m.offsets_type).storage;
  f.in[0] = m.offsets_type, f.n_inputs = 1;
  f.expr = Expr::identity();
  ParamsSmall p = {};
  p.out = m.flags, p.in[0] = m.offsets, p.kept = m.n_offsets, p.folded = m.steps, p.flags = m.reverse ? kReverse : 0;
  LaunchConfig c;
  c.block = kThreads;
  c.grid = std::clamp<int64_t>((m.n_offsets + kThreads - 1) / kThreads, 1, int64_t(device.processors) * 8);
  launch(resolve(f, device.ordinal, c), c, &p, stream);
}

}  // namespace tcu::cuda
