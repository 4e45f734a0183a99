#include "plan/segment_flags.h"

#include <algorithm>

#include "core/error.h"

namespace tcu {

SegmentFlags::SegmentFlags(Backend &backend, const TensorView &offsets, int dim, int64_t steps, bool reverse, void *stream)
    : backend_(backend), dim_(dim), stream_(stream) {
  if (dim < 0 || dim >= kMaxRank) fail(Code::dim, "dim is %d; modes are numbered 0..%d", dim, kMaxRank - 1);
  const Layout at = check_offsets(offsets, true);
  std::fill_n(extents_, dim + 1, 1);
  extents_[dim] = steps;
  marks_ = {nullptr, steps, offsets.data, offsets.dtype, at.extents[0], reverse};
  if (steps > 0) marks_.flags = backend.allocate(size_t(steps), stream);
}
SegmentFlags::~SegmentFlags() {
  try {
    if (marks_.flags) backend_.release(marks_.flags, stream_);
  } catch (const Error &) {  // the scan's own error is the one to report
  }
}
TensorView SegmentFlags::view() const { return {marks_.flags, DType::u8, dim_ + 1, extents_, nullptr}; }
void SegmentFlags::mark() const {
  if (!marks_.flags) return;
  backend_.zero(marks_.flags, size_t(marks_.steps), stream_);
  backend_.mark_segments(marks_, stream_);
}

std::shared_ptr<const Expr> behind_flag(const std::shared_ptr<const Expr> &expr, int flag) {
  std::vector<Node> nodes{Node::input(flag)};
  const Expr &element = expr ? *expr : *Expr::identity();
  nodes.insert(nodes.end(), element.nodes().begin(), element.nodes().end());
  return std::make_shared<const Expr>(std::move(nodes));
}

}  // namespace tcu
