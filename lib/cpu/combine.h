// The four combining operations, for the loops of folds and scans. A Bool is folded as a byte that is 0 or 1: its sum (in
// Bool) and max are the greater byte, its product and min the lesser one.
#pragma once
#include "core/scalar.h"

namespace tcu::cpu {

struct Sum {
  template <class T> static TCU_FN T f(T x, T y) { return m::add(x, y); }
};
struct Prod {
  template <class T> static TCU_FN T f(T x, T y) { return m::mul(x, y); }
};
struct Max {
  template <class T> static TCU_FN T f(T x, T y) { return m::max(x, y); }
};
struct Min {
  template <class T> static TCU_FN T f(T x, T y) { return m::min(x, y); }
};

}  // namespace tcu::cpu
