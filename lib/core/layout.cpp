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
    l.strides[i] = t.strides ? t.strides[i] : dense;
    if (!t.strides && !empty) overflow |= __builtin_mul_overflow(dense, l.extents[i], &dense);
    if (empty) continue;
    int64_t reach;
    overflow |= __builtin_mul_overflow(l.extents[i] - 1, l.strides[i], &reach);
    overflow |= __builtin_add_overflow(l.strides[i] < 0 ? reach_down : reach_up, reach, l.strides[i] < 0 ? &reach_down : &reach_up);
    overflow |= __builtin_mul_overflow(count, l.extents[i], &count);
  }
  int64_t bytes, negative;
  overflow |= __builtin_add_overflow(reach_up, 1, &reach_up) || __builtin_mul_overflow(reach_up, size, &bytes);
  overflow |= __builtin_mul_overflow(reach_down, size, &negative);
  if (overflow) fail(Code::overflow, "%s spans more bytes than an int64 can count; check its extents and strides", name);
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

void check_no_self_overlap(const Layout &l, const char *name) {
  if (l.empty()) return;
  struct M {
    int64_t extent, stride;
  } m[kMaxRank];
  int n = 0;
  for (int i = 0; i < l.rank; ++i)
    if (l.extents[i] > 1) m[n++] = {l.extents[i], std::llabs(l.strides[i])};
  std::sort(m, m + n, [](M a, M b) { return a.stride < b.stride; });
  int64_t reach = 0;  // of the modes so far, each nested in the next
  for (int i = 0; i < n; ++i) {
    if (m[i].stride == 0)
      fail(Code::alias, "%s has stride 0 along a mode of extent %lld, so its elements share memory", name,
           (long long)m[i].extent);
    if (m[i].stride <= reach) {
      // Not nested. Two modes alone meet exactly when both can walk to their strides' least common multiple.
      const int64_t g = std::gcd(m[0].stride, m[i].stride);
      if (i != 1 || n != 2 || (m[1].stride / g < m[0].extent && m[0].stride / g < m[1].extent))
        fail(Code::alias, "%s may have two indices at one element (strides %lld and %lld overlap); write to a copy", name,
             (long long)m[i - 1].stride, (long long)m[i].stride);
    }
    reach += (m[i].extent - 1) * m[i].stride;
  }
}

namespace {

// Whether d + sum of c_k * i_k (0 <= i_k < n_k) can land in [low, high], by depth-first search from the largest
// coefficient down: each level tries only the values from which the rest can still reach the window.
struct Reach {
  struct Term {
    int64_t coefficient, count, rest_low, rest_high;
  } terms[2 * kMaxRank];
  int n = 0, budget = 4096;

  void add(int64_t c, int64_t extent) {
    if (extent > 1 && c != 0) terms[n++] = {c, extent, 0, 0};
  }
  void prepare() {
    std::sort(terms, terms + n, [](const Term &a, const Term &b) { return std::llabs(a.coefficient) > std::llabs(b.coefficient); });
    int64_t lo = 0, hi = 0;
    for (int k = n - 1; k >= 0; --k) {
      terms[k].rest_low = lo, terms[k].rest_high = hi;
      (terms[k].coefficient < 0 ? lo : hi) += (terms[k].count - 1) * terms[k].coefficient;
    }
  }
  bool search(int k, __int128 at, int64_t low, int64_t high) {
    if (k == n) return at >= low && at <= high;
    if (--budget < 0) return true;
    const Term &t = terms[k];
    // low - rest_high <= at + c * i <= high - rest_low
    __int128 from = low - at - t.rest_high, to = high - at - t.rest_low, c = t.coefficient;
    if (c < 0) {
      const __int128 swap = -from;
      from = -to, to = swap, c = -c;
    }
    const __int128 first = from <= 0 ? 0 : (from + c - 1) / c;
    if (to < 0) return false;
    const __int128 last = std::min<__int128>(to / c, t.count - 1);
    for (__int128 i = first; i <= last; ++i)
      if (search(k + 1, at + i * t.coefficient, low, high)) return true;
    return false;
  }
};

}  // namespace

bool may_overlap(const void *a, const Layout &la, const void *b, const Layout &lb) {
  const Span sa = span_of(la), sb = span_of(lb);
  if (sa.first == sa.last || sb.first == sb.last) return false;
  const __int128 d = __int128(reinterpret_cast<uintptr_t>(a)) - __int128(reinterpret_cast<uintptr_t>(b));
  if (d + sa.last <= sb.first || d + sa.first >= sb.last) return false;
  Reach r;
  const int64_t size_a = bytes_of(la.dtype), size_b = bytes_of(lb.dtype);
  for (int i = 0; i < la.rank; ++i) r.add(la.strides[i] * size_a, la.extents[i]);
  for (int i = 0; i < lb.rank; ++i) r.add(-lb.strides[i] * size_b, lb.extents[i]);
  r.prepare();
  return r.search(0, d, 1 - size_a, size_b - 1);  // elements meet when -size_a < offset difference < size_b
}

}  // namespace tcu
