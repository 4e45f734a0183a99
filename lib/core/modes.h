// Canonical modes: the loop nest that every operation is, as kernels see it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>

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

// Modes from the fastest to the slowest. As many as problems have in place, more of them apart; copies only what is in use.
class Modes {
 public:
  Modes() {}
  Modes(const Modes &o) { *this = o; }
  Modes &operator=(const Modes &o) {
    if (o.size_ > kFew) make_room();
    size_ = o.size_;
    std::copy_n(o.begin(), size_, begin());
    return *this;
  }
  int size() const { return size_; }
  Mode &operator[](int i) { return begin()[i]; }
  const Mode &operator[](int i) const { return begin()[i]; }
  Mode *begin() { return many_ ? many_.get() : few_; }
  const Mode *begin() const { return many_ ? many_.get() : few_; }
  const Mode *end() const { return begin() + size_; }
  void push(const Mode &m) {
    if (size_ == kFew) make_room();
    begin()[size_++] = m;
  }
  void resize(int n) { size_ = n; }  // to fewer

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
  static constexpr int kFew = 8;
  void make_room() {
    if (many_) return;
    many_.reset(new Mode[kMaxRank]);
    std::copy_n(few_, size_, many_.get());
  }
  int size_ = 0;
  Mode few_[kFew];
  std::unique_ptr<Mode[]> many_;
};

// Drops modes of extent 1 (an S mode stays, behind the others: its lines lie side by side, whatever its stride), orders the rest
// from the fastest to the slowest, and merges neighbours of one role that are contiguous with each other for every operand.
// `lead` lists operands by how much their order counts.
void canonicalize(Modes &modes, int n_operands, const int *lead, int n_lead);

}  // namespace tcu
