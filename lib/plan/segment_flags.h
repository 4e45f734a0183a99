// The flags of a scan of segments by offsets: a byte for each step along the scanned mode, 1 where a segment begins.
#pragma once
#include "plan/backend.h"

namespace tcu {

// Memory of the backend's, ordered by the stream.
class SegmentFlags {
 public:
  // Fails as make_segmented does where the offsets are no dense vector of int32 or int64. Nothing is written yet.
  SegmentFlags(Backend &backend, const TensorView &offsets, int dim, int64_t steps, bool reverse, void *stream);
  SegmentFlags(const SegmentFlags &) = delete;
  ~SegmentFlags();
  TensorView view() const;  // broadcast along all modes but `dim`
  void mark() const;

 private:
  Backend &backend_;
  Backend::SegmentMarks marks_;
  int dim_;
  void *stream_;
  int64_t extents_[kMaxRank];
};

// The expression (null: input 0) behind a flag, which is input number `flag`.
std::shared_ptr<const Expr> behind_flag(const std::shared_ptr<const Expr> &expr, int flag);

}  // namespace tcu
