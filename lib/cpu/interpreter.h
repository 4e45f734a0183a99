// Runs a Program over boxes of memory: loads what does not lie as a tile, computes, hands the result on.
#pragma once
#include <array>

#include "cpu/grid.h"
#include "cpu/program.h"
#include "plan/backend.h"

namespace tcu::cpu {

// Bytes of a tile in the widest slot of its program.
inline constexpr int64_t kTileBytes = 8 * 1024;

// Scratch of one call: one zone per thread, from memory that the calling thread keeps.
class Scratch {
 public:
  Scratch(int threads, size_t bytes_per_thread);
  ~Scratch();
  char *zone(int thread) const { return data_ + size_t(thread) * each_; }

 private:
  char *data_;
  size_t each_;
  bool owned_;  // a nested call finds the thread's own memory in use
};

// The numbers that a program takes by value, as elements of their compute dtypes.
struct Numbers {
  std::vector<std::array<unsigned char, 16>> value;
  Numbers(const Program &p, const Execution &e);
};

// One thread's view of a program. Operand k of the program's input i is `operand[i]` of the grid.
class Machine {
 public:
  static size_t bytes(const Program &p, int64_t tile);
  // zone: bytes(p, tile) of scratch, aligned to 64.
  Machine(const Program &p, const Numbers &numbers, const DType *input_dtypes, int64_t tile, char *zone);

  // Points input i at the box of operand k at `memory`: used in place where it lies flat, copied otherwise. A copy of the
  // same box as last time (a broadcast operand) is not made again. True if it is used in place. One that the program does not read is
  // left alone.
  bool load(int i, const Box &box, int k, const void *memory);
  void point(int i, const void *tile) { slots_[i] = const_cast<void *>(tile); }

  // A box may be computed in pieces of at most so many elements: an operand that is one number in it is then repeated no further.
  void in_pieces(int64_t most) { piece_ = most; }
  void advance(int64_t n) {
    for (int i = 0; i < program_->n_inputs; ++i) slots_[i] = static_cast<char *>(slots_[i]) + n * step_[i];
  }

  // Computes n elements to `out` if the program computes anything, and returns where the result is.
  void *run(void *out, int64_t n) {
    if (!program_->computes()) return slots_[program_->result];
    program_->run(slots_, out, n);
    return out;
  }
  const void *more(int i) const { return slots_[program_->more[i]]; }  // a map's other results, after run()
  bool computes() const { return program_->computes(); }
  void *tile() const { return result_; }  // a place for the result

 private:
  const Program *program_;
  void *slots_[2 * kMaxNodes + 4 * kMaxInputs + 64];
  char *copies_[kMaxInputs + 2];
  int input_bytes_[kMaxInputs + 2], step_[kMaxInputs + 2];  // bytes from one element of a tile to the next
  int64_t piece_;
  const void *cached_[kMaxInputs + 2];
  Box cached_box_[kMaxInputs + 2];
  void *result_;
};

}  // namespace tcu::cpu
