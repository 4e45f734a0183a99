// Canonical modes: the loop nest that every operation is, as kernels see it.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/expr.h"
#include "core/layout.h"

namespace tcu {

enum class Role : uint8_t { K, R, S };  // kept, reduced, scanned

// Operand 0 is the output, 1..n are the inputs; an arg-reduction has one more, whose strides weigh positions.
inline constexpr int kMaxOperands = kMaxInputs + 2;

struct Mode {
  int64_t extent;
  Role role;
  int64_t stride[kMaxOperands];
};

// Modes from the fastest to the slowest. Copies only what is in use.
class Modes {
 public:
  Modes() = default;
  Modes(const Modes &o) { *this = o; }
  Modes &operator=(const Modes &o) {
    size_ = o.size_;
    std::copy_n(o.modes_, size_, modes_);
    return *this;
  }
  int size() const { return size_; }
  Mode &operator[](int i) { return modes_[i]; }
  const Mode &operator[](int i) const { return modes_[i]; }
  const Mode *begin() const { return modes_; }
  const Mode *end() const { return modes_ + size_; }
  void push(const Mode &m) { modes_[size_++] = m; }
  void resize(int n) { size_ = n; }

  int64_t count(Role role) const {  // the product of the extents of one role's modes
    int64_t n = 1;
    for (const Mode &m : *this)
      if (m.role == role) n *= m.extent;
    return n;
  }
  int n_of(Role role) const {
    return int(std::count_if(begin(), end(), [role](const Mode &m) { return m.role == role; }));
  }

 private:
  int size_ = 0;
  Mode modes_[kMaxRank];
};

// Drops modes of extent 1 (an S mode stays), orders the rest from the fastest to the slowest, and merges neighbours of
// one role that are contiguous with each other for every operand. `lead` lists operands by how much their order counts.
void canonicalize(Modes &modes, int n_operands, const int *lead, int n_lead);

}  // namespace tcu
