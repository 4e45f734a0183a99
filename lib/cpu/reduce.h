// What the reduce rows share. A row says how modes are cut into boxes of K and R modes; then, for each box of kept modes,
// the boxes of reduced modes are evaluated, folded into an accumulator per kept element, and the post stage writes those.
#pragma once
#include <optional>

#include "cpu/post.h"
#include "cpu/state.h"

namespace tcu::cpu {

struct ReduceCut {
  void (*cut)(Grid &, int64_t room, int64_t row);  // room: elements of a box; row: of them along a fastest mode that is kept
  bool in_place;  // operands may be folded where they lie
  bool split;     // the reduced boxes of one kept box may go to several threads
};

struct ReducePlan {
  Program pre;     // the element, in the accumulator's dtype
  bool direct;     // pre does nothing: the operand itself is folded
  Stage post, second;  // of the second result, if there is one
  Folds folds;
  ArgFolds arg;
  ReduceOp op;
  bool is_arg, cascade;
  bool stream;     // the outputs go past the caches
  Grid grid;
  States states;   // where a state is several numbers
  Finish finish;
  DType acc;
  int acc_bytes;
  int64_t parts;
  int64_t abreast = 1;  // kept boxes that are folded side by side
  int64_t tile, kept_box;  // elements of a box, and of its kept modes
  std::vector<DType> inputs;

  int numbers() const { return states.combine ? info(op).numbers : 1; }
  int64_t state_bytes() const { return kept_box * numbers() * acc_bytes; }  // of a kept box
  // state = combine(state, from), of `kept` elements.
  void combine(void *state, const void *from, int64_t kept, bool fresh) const;
};

// Whether splitting has something to split: few kept boxes and several reduced ones.
int64_t parts_of(const Problem &p, const ReduceCut &how);
LaunchConfig configure_reduce(const Problem &p, const ReduceCut &how);
std::shared_ptr<const void> prepare_reduce(const Problem &p, const ReduceCut &how);
void launch_reduce(const Plan &plan, const Execution &e, Backend &backend);

// How the accumulators of an execution become what is written, and where. The second result's dtype is none where there is none.
struct Results {
  struct One {
    const Program &program;
    Numbers numbers;
    DType post, dtype;
    void *data;
    bool reads_out;
    One(const Stage &s, const Program &p, const Execution &e, DType d, void *to)
        : program(p), numbers(p, e), post(s.post), dtype(d), data(to), reads_out(s.reads_out) {}
  };
  One out, second;
  Results(const ReducePlan &r, const Problem &p, const Execution &e)
      : out(r.post, r.post.choose(e), e, p.out, e.at.out), second(r.second, r.second.plain, e, p.more[0], e.at.more[0]) {}
};

// Writes one kept box from its accumulators.
class Writer {
 public:
  static size_t bytes(const ReducePlan &r, const Results &to) { return One::bytes(r, to.out) + One::bytes(r, to.second); }
  Writer(const ReducePlan &plan, const Results &to, char *zone) : r(plan), out(plan, to.out, zone) {
    if (to.second.dtype != DType::none) second.emplace(plan, to.second, zone + One::bytes(plan, to.out));
  }
  ~Writer() {
    if (r.stream) flush_streams();
  }
  // Where a kept box's results lie side by side, for those that need no conversion; else null.
  void *straight(const Walk &kept_walk, const Box &box) const {
    int64_t offset[kMaxOperands] = {};
    kept_walk.offsets(r.grid, 1, offset);
    return box.flat(0) ? out.at(offset[0]) : nullptr;
  }
  void write(const Walk &kept_walk, const Box &box, const void *acc, const void *second_acc) {
    int64_t offset[kMaxOperands] = {};
    kept_walk.offsets(r.grid, 1, offset);
    out.write(box, offset[0], acc);
    if (second) second->write(box, offset[0], second_acc);
  }

 private:
  struct One {
    const Results::One &to;
    DType types[2];
    Machine machine;
    static size_t bytes(const ReducePlan &r, const Results::One &to) {
      return to.dtype == DType::none ? 0 : (Machine::bytes(to.program, r.kept_box) + 127) / 64 * 64;
    }
    One(const ReducePlan &r, const Results::One &result, char *zone)
        : to(result), types{to.post, to.dtype}, machine(to.program, to.numbers, types, r.kept_box, zone) {}
    char *at(int64_t offset) const { return static_cast<char *>(to.data) + offset * bytes_of(to.dtype); }
    void write(const Box &box, int64_t offset, const void *acc) {
      char *const at = this->at(offset);
      machine.point(0, acc);
      if (to.reads_out) machine.load(1, box, 0, at);
      void *const into = box.flat(0) ? static_cast<void *>(at) : machine.tile();
      store(box, 0, at, machine.run(into, box.elements), bytes_of(to.dtype), false);
    }
  };
  const ReducePlan &r;
  One out;
  std::optional<One> second;
};

}  // namespace tcu::cpu
