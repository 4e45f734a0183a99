// What the reduce rows share. A row says how modes are cut into boxes of K and R modes; then, for each box of kept modes,
// the boxes of reduced modes are evaluated, folded into an accumulator per kept element, and the post stage writes those.
#pragma once
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
  Stage post;
  Folds folds;
  ArgFolds arg;
  ReduceOp op;
  bool is_arg, cascade;
  Grid grid;
  States states;   // where a state is several numbers
  Finish finish;
  DType acc;
  int acc_bytes;
  int64_t parts;
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

// Writes one kept box from its accumulators.
struct Writer {
  const ReducePlan &r;
  const Problem &p;
  const Execution &e;
  Machine post;
  DType types[2];
  static size_t bytes(const ReducePlan &r, const Program &program) { return Machine::bytes(program, r.kept_box); }
  Writer(const ReducePlan &plan, const Problem &problem, const Execution &execution, const Program &program,
         const Numbers &numbers, char *zone)
      : r(plan), p(problem), e(execution),
        post(program, numbers, (types[0] = plan.post.post, types[1] = problem.out, types), plan.kept_box, zone) {}

  void write(const Walk &kept_walk, const Box &box, const void *acc) {
    const Grid &g = r.grid;
    int64_t offset[kMaxOperands] = {};
    kept_walk.offsets(g, 1, offset);
    char *const out = static_cast<char *>(e.at.out) + offset[0] * bytes_of(p.out);
    post.point(0, acc);
    if (p.reads_out) post.load(1, box, 0, out);
    void *const to = box.flat(0) ? static_cast<void *>(out) : post.tile();
    store(box, 0, out, post.run(to, box.elements), bytes_of(p.out), false);
  }
};

}  // namespace tcu::cpu
