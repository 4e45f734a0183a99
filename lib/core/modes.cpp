#include "core/modes.h"

#include <cstdlib>
#include <optional>

namespace tcu {
namespace {

// Whether a belongs inside (before) b: decided by the first operand for which both strides say something.
// Strides of 0 say nothing; equal strides leave it to the next operand.
bool inside(const Mode &a, const Mode &b, const int *lead, int n_lead) {
  for (int k = 0; k < n_lead; ++k) {
    const int64_t sa = std::llabs(a.stride[lead[k]]), sb = std::llabs(b.stride[lead[k]]);
    if (sa == 0 || sb == 0 || sa == sb) continue;
    return sa < sb;
  }
  return false;
}

bool contiguous(const Mode &inner, const Mode &outer, int n_operands) {
  for (int k = 0; k < n_operands; ++k) {
    int64_t next;
    if (__builtin_mul_overflow(inner.stride[k], inner.extent, &next) || outer.stride[k] != next) return false;
  }
  return true;
}

}  // namespace

void canonicalize(Modes &modes, int n_operands, const int *lead, int n_lead) {
  int n = 0;
  std::optional<Mode> step;
  for (int i = 0; i < modes.size(); ++i) {
    if (modes[i].extent != 1) modes[n++] = modes[i];
    else if (modes[i].role == Role::S) step = modes[i];
  }
  // Insertion sort: 'inside' is no strict weak order (a stride of 0 is comparable to all), and the lists are short.
  for (int i = 1; i < n; ++i)
    for (int j = i; j > 0 && inside(modes[j], modes[j - 1], lead, n_lead); --j) std::swap(modes[j], modes[j - 1]);
  int last = 0;
  for (int i = 1; i < n; ++i) {
    Mode &inner = modes[last];
    if (inner.role == modes[i].role && inner.role != Role::S && contiguous(inner, modes[i], n_operands))
      inner.extent *= modes[i].extent;
    else
      modes[++last] = modes[i];
  }
  modes.resize(n ? last + 1 : 0);
  if (step) modes.push(*step);
}

}  // namespace tcu
