#include "core/layout.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "core/error.h"

namespace tcu {

bool Layout::empty() const { return std::any_of(extents, extents + rank, [](int64_t e) { return e == 0; }); }

Layout check_tensor(const TensorView &t, const char *name, bool need_data) {
  if (!is_dtype(int32_t(t.dtype))) fail(Code::dtype, "%s has unknown dtype %d", name, int(t.dtype));
  if (t.rank < 0 || t.rank > kMaxRank)
    fail(Code::rank, "%s has rank %d; ranks go from 0 to %d", name, t.rank, kMaxRank);
  if (t.rank > 0 && !t.extents) fail(Code::null, "%s has rank %d and no extents", name, t.rank);
  Layout l;
  l.dtype = t.dtype, l.rank = t.rank;
  const int64_t size = bytes_of(t.dtype);
  bool empty = false;
  for (int i = 0; i < t.rank; ++i) {
    if (t.extents[i] < 0) fail(Code::extent, "%s has extent %lld in mode %d", name, (long long)t.extents[i], i);
    l.extents[i] = t.extents[i];
    empty |= t.extents[i] == 0;
  }
  int64_t dense = 1, reach_up = 0, reach_down = 0, count = 1;
  bool overflow = false;
  for (int i = 0; i < t.rank; ++i) {
    // Modes beside an empty one count too: their product is a size that kernels compute.
    overflow |= __builtin_mul_overflow(count, std::max<int64_t>(l.extents[i], 1), &count);
    l.strides[i] = empty ? 1 : t.strides ? t.strides[i] : dense;  // nobody walks an empty tensor: any stride is good
    if (empty) continue;
    if (!t.strides) overflow |= __builtin_mul_overflow(dense, l.extents[i], &dense);
    int64_t reach;
    overflow |= __builtin_mul_overflow(l.extents[i] - 1, l.strides[i], &reach);
    overflow |= __builtin_add_overflow(l.strides[i] < 0 ? reach_down : reach_up, reach, l.strides[i] < 0 ? &reach_down : &reach_up);
  }
  int64_t bytes, negative, span;
  overflow |= __builtin_add_overflow(reach_up, 1, &reach_up) || __builtin_mul_overflow(reach_up, size, &bytes);
  overflow |= __builtin_mul_overflow(reach_down, size, &negative);
  overflow |= __builtin_sub_overflow(bytes, negative, &span) || span > kMostCounted || count > kMostCounted;
  if (overflow) fail(Code::overflow, "%s spans more bytes than can be addressed; check its extents and strides", name);
  if (need_data && !empty) {
    if (!t.data) fail(Code::null, "%s has elements and null data", name);
    const int64_t unit = kind_of(t.dtype) == Kind::Complex ? size / 2 : size;
    if (reinterpret_cast<uintptr_t>(t.data) % uint64_t(unit))
      fail(Code::alignment, "%s's data is not a multiple of its element's %lld bytes", name, (long long)unit);
  }
  return l;
}

Span span_of(const Layout &l) {
  if (l.empty()) return {0, 0};
  int64_t first = 0, last = 0;
  for (int i = 0; i < l.rank; ++i) (l.strides[i] < 0 ? first : last) += (l.extents[i] - 1) * l.strides[i];
  const int64_t size = bytes_of(l.dtype);
  return {first * size, (last + 1) * size};
}

namespace {

// Whether start + sum of c_k * i_k (0 <= i_k < n_k) can land in [low, high], by depth-first search from the largest
// coefficient down: each level tries only the values from which the rest can still reach the window, and none if the
// rest's steps pass over it. Modes of one stride in two tensors become one term, so that interleaved slices cost little.
class Reach {
 public:
  __int128 start = 0;

  void add(int64_t coefficient, __int128 count) {
    if (coefficient < 0) start += coefficient * (count - 1), coefficient = -coefficient;
    terms_[n_++] = {coefficient, count, 0, 0};
  }
  bool meets(int64_t low, int64_t high) {
    std::sort(terms_, terms_ + n_, [](const Term &a, const Term &b) { return a.coefficient > b.coefficient; });
    int last = 0;
    for (int k = 1; k < n_; ++k) {
      if (terms_[k].coefficient == terms_[last].coefficient)
        terms_[last].count += terms_[k].count - 1;
      else
        terms_[++last] = terms_[k];
    }
    if (n_ > 0) n_ = last + 1;
    for (int k = n_ - 1; k >= 0; --k) {
      const bool least = k == n_ - 1;
      terms_[k].rest = least ? 0 : terms_[k + 1].rest + (terms_[k + 1].count - 1) * terms_[k + 1].coefficient;
      terms_[k].step = least ? terms_[k].coefficient : std::gcd(terms_[k].coefficient, terms_[k + 1].step);
    }
    low_ = low, high_ = high;
    return search(0, start);
  }

 private:
  struct Term {
    int64_t coefficient;
    __int128 count;
    __int128 rest;  // how far the later terms reach together
    int64_t step;   // that this and the later terms move in
  };
  bool search(int k, __int128 at) {
    if (k == n_) return at >= low_ && at <= high_;
    if (--budget_ < 0) return true;
    const Term &t = terms_[k];
    const __int128 from = low_ - at - t.rest, to = high_ - at, c = t.coefficient;
    if (to < 0 || to / t.step * t.step < low_ - at) return false;
    const __int128 first = from <= 0 ? 0 : (from + c - 1) / c, last = std::min(to / c, t.count - 1);
    for (__int128 i = first; i <= last; ++i)
      if (search(k + 1, at + i * c)) return true;
    return false;
  }
  Term terms_[2 * kMaxRank];
  int n_ = 0, budget_ = 4096;
  int64_t low_ = 0, high_ = 0;
};

}  // namespace

void check_no_self_overlap(const Layout &l, const char *name) {
  if (l.empty()) return;
  struct M {
    int64_t extent, stride;
  } m[kMaxRank];
  int n = 0;
  for (int i = 0; i < l.rank; ++i)
    if (l.extents[i] > 1) m[n++] = {l.extents[i], std::llabs(l.strides[i])};
  std::sort(m, m + n, [](M a, M b) { return a.stride < b.stride; });
  int64_t reach = 0;  // of the modes so far; while each nests in the next, no two indices can meet
  for (int i = 0; i < n; ++i) {
    if (m[i].stride == 0)
      fail(Code::alias, "%s has stride 0 along a mode of extent %lld, so its elements share memory", name,
           (long long)m[i].extent);
    if (m[i].stride <= reach) {
      // Not nested: look for two indices that differ in mode i and in none beyond it, and have one offset.
      Reach difference;
      difference.start = m[i].stride;
      difference.add(m[i].stride, m[i].extent - 1);
      for (int k = 0; k < i; ++k) {
        difference.start -= __int128(m[k].extent - 1) * m[k].stride;
        difference.add(m[k].stride, 2 * __int128(m[k].extent) - 1);
      }
      if (difference.meets(0, 0))
        fail(Code::alias, "%s may have two indices at one element (strides %lld and %lld overlap); write to a copy", name,
             (long long)m[i - 1].stride, (long long)m[i].stride);
    }
    reach += (m[i].extent - 1) * m[i].stride;
  }
}

bool may_overlap(const void *a, const Layout &la, const void *b, const Layout &lb) {
  const Span sa = span_of(la), sb = span_of(lb);
  if (sa.first == sa.last || sb.first == sb.last) return false;
  const __int128 d = __int128(reinterpret_cast<uintptr_t>(a)) - __int128(reinterpret_cast<uintptr_t>(b));
  if (d + sa.last <= sb.first || d + sa.first >= sb.last) return false;
  Reach r;
  r.start = d;
  const int64_t size_a = bytes_of(la.dtype), size_b = bytes_of(lb.dtype);
  for (int i = 0; i < la.rank; ++i)
    if (la.extents[i] > 1 && la.strides[i] != 0) r.add(la.strides[i] * size_a, la.extents[i]);
  for (int i = 0; i < lb.rank; ++i)
    if (lb.extents[i] > 1 && lb.strides[i] != 0) r.add(-lb.strides[i] * size_b, lb.extents[i]);
  return r.meets(1 - size_a, size_b - 1);  // elements meet when -size_a < offset difference < size_b
}

}  // namespace tcu
