// Layouts as callers give them, and what can be wrong with one. Canonical modes, which kernels see, are in modes.h.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/dtype.h"

namespace tcu {

inline constexpr int kMaxRank = 64;
// The most bytes that a tensor may span and elements that a space may have: half of what an int64 counts, so that kernels
// may round up and add two offsets without thought. No machine addresses as much.
inline constexpr int64_t kMostCounted = int64_t(1) << 62;

// A tensor argument: borrowed arrays, checked by check_tensor before anything else looks at it.
struct TensorView {
  void *data = nullptr;
  DType dtype = DType::none;
  int rank = 0;
  const int64_t *extents = nullptr;
  const int64_t *strides = nullptr;  // in elements; null means dense, mode 0 fastest
};

// A checked layout with its strides spelled out. extent(i), stride(i) are 1 and 0 beyond the rank. Copies only what is in use.
struct Layout {
  DType dtype = DType::none;
  int rank = 0;
  int64_t extents[kMaxRank];
  int64_t strides[kMaxRank];
  Layout() {}
  Layout(const Layout &o) { *this = o; }
  Layout &operator=(const Layout &o) {
    dtype = o.dtype, rank = o.rank;
    std::copy_n(o.extents, rank, extents), std::copy_n(o.strides, rank, strides);
    return *this;
  }
  int64_t extent(int i) const { return i < rank ? extents[i] : 1; }
  int64_t stride(int i) const { return i < rank ? strides[i] : 0; }
  bool empty() const;
};

// Bytes from the first to one past the last byte that a tensor touches, relative to its data pointer.
struct Span {
  int64_t first, last;  // first <= 0; last > 0 unless the tensor is empty
};

// Checks rank, extents, dtype, data and reach; `name` names the argument in messages ("out", "input 2").
// With need_data, null data is refused unless the tensor is empty.
Layout check_tensor(const TensorView &t, const char *name, bool need_data);
Span span_of(const Layout &l);

// Fails with Code::alias if two index tuples meet at one element (for an output).
void check_no_self_overlap(const Layout &l, const char *name);

// Whether two tensors may share a byte. Exact for all but pathological layouts, for which it says yes.
bool may_overlap(const void *a, const Layout &la, const void *b, const Layout &lb);

}  // namespace tcu
