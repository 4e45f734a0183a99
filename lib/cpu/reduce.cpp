#include "cpu/reduce.h"

#include <cstring>
#include <limits>

#include "cpu/fold_box.h"
#include "cpu/threads.h"

namespace tcu::cpu {
namespace {

bool kept_axis(const Grid &g, int m) { return g.axis[m].role == Role::K; }

// A box that is folded where it lies need not fit L1: it is read once.
constexpr int64_t kDirectTile = 16 * 1024;
// Units of work that a reduction is cut into where its shape allows; not the thread count, so that the bits do not depend
// on it. Enough that 2..16 threads are evenly busy, few enough that partial results stay small.
constexpr int64_t kUnits = 64;

// Partial sums of partial sums: no accumulator takes more than this many additions of like size, which bounds the error
// of a float sum by some 2 * kChain ulp however long it is.
constexpr int kChain = 16, kLevels = 8;

// A tile whose state is made in several steps, with two more of its size in L1.
constexpr int64_t kStateTile = 2048;

Program element_program(const Problem &p) {
  Builder b(*p.expr, p.in, p.n_inputs);
  if (p.op == ReduceOp::norm) {
    b.cast(kind_of(p.element) == Kind::Complex ? promote(p.acc, DType::c64) : p.acc);
    b.unary(Op::abs2, p.acc);
  }
  if (p.op == ReduceOp::any || p.op == ReduceOp::all || p.op == ReduceOp::count) b.cast(DType::bool_);
  b.cast(p.acc);
  return compile(b, p.acc);
}

bool is_direct(const Problem &p) {
  const bool truth = p.op == ReduceOp::any || p.op == ReduceOp::all || p.op == ReduceOp::count;
  return p.expr->is_identity() && p.in[0] == p.acc && p.op != ReduceOp::norm && (!truth || p.op != ReduceOp::count);
}

bool streams(const Problem &p) { return p.kept() * bytes_of(p.out) >= kStreamBytes && !p.reads_out; }

// Whether a box is segments side by side: no mode is kept before one that is reduced.
bool is_segments(const Grid &g) {
  bool kept = false, reduced = false;
  for (int m = 0; m < g.n; ++m) {
    if (g.axis[m].step == 1) continue;
    if (kept_axis(g, m)) kept = true;
    else if (kept) return false;
    else reduced = true;
  }
  return reduced;
}

Grid grid_of(const Problem &p, const ReduceCut &how) {
  Grid g = Grid::of(p.modes, p.n_operands());
  // Several rows of a kept box at least, where what is done for each kept element is more than an addition.
  if (info(p.op).numbers > 1) how.cut(g, kStateTile, kStateTile / 16);
  else how.cut(g, is_direct(p) && how.in_place ? kDirectTile : kTileBytes / 8, 2048);
  return g;
}

}  // namespace

int64_t parts_of(const Problem &p, const ReduceCut &how) {
  int64_t work = 1;
  for (const Mode &m : p.modes)
    if (__builtin_mul_overflow(work, m.extent, &work)) work = INT64_MAX;
  if (!how.split || work < 2 * 32 * 1024) return 1;
  const Grid g = grid_of(p, how);
  const int64_t kept = g.boxes([&](int m) { return kept_axis(g, m); });
  const int64_t reduced = g.boxes([&](int m) { return !kept_axis(g, m); });
  if (kept == 0 || kept >= kUnits) return 1;
  return std::min((kUnits + kept - 1) / kept, reduced);
}

LaunchConfig configure_reduce(const Problem &p, const ReduceCut &how) {
  const Grid g = grid_of(p, how);
  LaunchConfig c;
  c.split = parts_of(p, how);
  c.grid = g.boxes([&](int m) { return kept_axis(g, m); }) * c.split;
  if (c.split > 1) {
    int64_t kept_box = 1;
    for (int m = 0; m < g.n; ++m)
      if (kept_axis(g, m)) kept_box *= g.axis[m].step;
    c.workspace_bytes = size_t(c.grid * kept_box) * size_t(info(p.op).numbers * bytes_of(p.acc) + (is_arg(p.op) ? 8 : 0)) + 128;
  }
  return c;
}

void ReducePlan::combine(void *state, const void *from, int64_t kept, bool fresh) const {
  if (!states.combine) folds.rows(state, from, kept, 1, 0, fresh);
  else if (fresh) std::memcpy(state, from, size_t(state_bytes()));
  else states.combine(state, from, kept, kept_box);
}

std::shared_ptr<const void> prepare_reduce(const Problem &p, const ReduceCut &how) {
  auto r = std::make_shared<ReducePlan>();
  r->pre = element_program(p);
  r->direct = is_direct(p) && how.in_place;
  r->acc = p.acc, r->acc_bytes = bytes_of(p.acc);
  r->op = p.op, r->is_arg = is_arg(p.op);
  r->states = states_of(p.op, p.acc), r->finish = finish_of(p.op, p.acc);
  r->post = make_stage(r->is_arg ? DType::i64 : p.acc, p.out, p.reads_out);
  if (p.n_more) r->second = make_stage(p.acc, p.more[0], false);
  r->folds = folds(table(), p.op, p.acc);
  r->arg = arg_folds(table(), p.op, p.acc);
  const Kind k = kind_of(p.acc);
  const Accumulate rule = info(p.op).accumulate;
  r->cascade = (rule == Accumulate::Widen || has_finish(p.op)) && (k == Kind::Float || k == Kind::Complex);
  r->grid = grid_of(p, how);
  r->parts = parts_of(p, how);
  r->stream = streams(p);
  r->tile = r->grid.box_elements();
  r->kept_box = 1;
  for (int m = 0; m < r->grid.n; ++m)
    if (kept_axis(r->grid, m)) r->kept_box *= r->grid.axis[m].step;
  r->inputs.assign(p.in, p.in + p.n_inputs);
  return r;
}

namespace {

// One thread's state: the machine that evaluates tiles and the accumulators of one kept box.
struct Worker {
  const ReducePlan &r;
  const Problem &p;
  const Execution &e;
  Machine pre;
  char *levels, *scratch, *made;  // made: a tile's states
  int64_t *at;
  int used[kLevels] = {};  // additions that a level has taken
  Walk reduced;
  void *straight = nullptr;  // where the results belong, if the fold may leave them there

  static size_t level_bytes(const ReducePlan &r) { return (size_t(r.state_bytes()) + 63) / 64 * 64 + 64; }
  static size_t bytes(const ReducePlan &r) {
    const size_t folding = r.states.combine ? level_bytes(r) + state_scratch(r.tile, r.acc_bytes)
                                            : size_t(r.tile + 64) * size_t(r.acc_bytes) * 2;
    return Machine::bytes(r.pre, r.tile) + kLevels * level_bytes(r) + folding + size_t(r.kept_box) * 8 + 64;
  }
  Worker(const ReducePlan &plan, const Problem &problem, const Execution &execution, const Numbers &numbers, char *zone)
      : r(plan), p(problem), e(execution), pre(plan.pre, numbers, plan.inputs.data(), plan.tile, zone) {
    levels = zone + Machine::bytes(r.pre, r.tile);
    at = reinterpret_cast<int64_t *>(levels + kLevels * level_bytes(r));
    made = reinterpret_cast<char *>(at) + (size_t(r.kept_box) * 8 + 63) / 64 * 64;
    scratch = made + (r.states.combine ? level_bytes(r) : 0);
    reduced = Walk::over(r.grid, [&](int m) { return !kept_axis(r.grid, m); });
  }
  void *level(int i) { return i == 0 && straight ? straight : levels + size_t(i) * level_bytes(r); }

  void start(int64_t kept) {
    std::fill_n(used, kLevels, 0);
    if (!r.is_arg) return;
    unsigned char lowest[16];
    store_compute(lowest, r.acc, identity_of(p.op, r.acc));
    for (int64_t i = 0; i < kept; ++i) {
      std::memcpy(static_cast<char *>(level(0)) + i * r.acc_bytes, lowest, size_t(r.acc_bytes));
      at[i] = std::numeric_limits<int64_t>::max();
    }
  }

  // A level that is full goes onto the next one.
  void carry(int64_t kept) {
    ++used[0];
    for (int i = 0; r.cascade && i + 1 < kLevels && used[i] == kChain; ++i) {
      r.combine(level(i + 1), level(i), kept, used[i + 1] == 0);
      used[i] = 0, ++used[i + 1];
    }
  }

  // Folds boxes first..last-1 of the reduced walk at one kept box. The result lies in level(0), and `at`.
  void fold(const Walk &kept_walk, int64_t kept, int64_t first, int64_t last) {
    const Grid &g = r.grid;
    start(kept);
    reduced.seek(g, first);
    for (int64_t t = first; t < last; ++t, reduced.next(g)) {
      int64_t offset[kMaxOperands] = {};
      kept_walk.offsets(g, g.n_operands, offset);
      reduced.offsets(g, g.n_operands, offset);
      const Box box(g, kept_walk, &reduced);
      const auto source = [&](int i) { return static_cast<const char *>(e.at.in[i]) + offset[1 + i] * bytes_of(p.in[i]); };
      const void *tile = nullptr;
      int64_t stride = 0;
      // Long rows of kept elements, some way apart: folded where they lie, though the box has gaps.
      if (r.direct && !r.is_arg && !r.states.combine && box.n == 2 && box.axis[0]->role == Role::K &&
          box.axis[1]->role == Role::R && box.axis[0]->stride[1] == 1 && box.axis[1]->stride[1] != 0 && box.extent[0] >= 64)
        tile = source(0), stride = box.axis[1]->stride[1];
      if (!tile) {
        for (int i = 0; i < p.n_inputs; ++i) pre.load(i, box, 1 + i, source(i));
        tile = pre.run(pre.tile(), box.elements);
      }
      if (r.is_arg) {
        fold_box_arg(r.arg, r.acc_bytes, box, p.position_operand(), tile, offset[p.position_operand()], level(0), at);
      } else {
        if (r.states.combine) {
          r.states.of_tile(box, tile, made, r.kept_box, scratch);
          r.combine(level(0), made, kept, used[0] == 0);
        } else {
          fold_box(r.folds, r.acc_bytes, box, tile, stride, level(0), used[0] == 0, scratch, r.stream && straight);
        }
        carry(kept);
      }
    }
    if (r.is_arg) return;
    int top = -1;
    for (int i = 0; i < kLevels; ++i) {
      if (!used[i]) continue;
      if (top >= 0) r.combine(level(i), level(top), kept, false);
      top = i;
    }
    if (top > 0) std::memcpy(level(0), level(top), size_t(r.state_bytes()));
  }
  // The results of what lies in level(0), and in `at`.
  struct Found {
    const void *result, *second;
  };
  Found found(int64_t kept) {
    if (r.is_arg) return {at, level(0)};
    if (r.finish) r.finish(level(0), kept, r.kept_box, p.reduced(), e.correction);
    return {level(0), static_cast<char *>(level(0)) + r.kept_box * r.acc_bytes};
  }
};

}  // namespace

void launch_reduce(const Plan &plan, const Execution &e, Backend &) {
  const auto &r = *static_cast<const ReducePlan *>(plan.prepared.get());
  const Problem &p = plan.problem;
  const Grid &g = r.grid;
  const auto is_kept = [&](int m) { return kept_axis(g, m); };
  const int64_t kept_boxes = g.boxes(is_kept), reduced_boxes = g.boxes([&](int m) { return !is_kept(m); });
  const Results results(r, p, e);
  // The fold of one box is the result: it is left where it belongs, past the caches if need be.
  const bool straight = is_segments(g) && reduced_boxes == 1 && !r.is_arg && !r.states.combine && !r.finish &&
                        !results.out.program.computes();
  const Numbers numbers(r.pre, e);
  const int64_t work = kept_boxes * reduced_boxes * r.tile;
  const size_t worker_bytes = (Worker::bytes(r) + 127) / 64 * 64;
  const int64_t parts = r.parts, units = kept_boxes * parts;
  const int threads = threads_for(units, work);
  const Scratch scratch(threads, worker_bytes + Writer::bytes(r, results));
  char *const partial = static_cast<char *>(e.workspace) + (-reinterpret_cast<uintptr_t>(e.workspace) & 63);
  int64_t *const partial_at = reinterpret_cast<int64_t *>(partial + (units * r.state_bytes() + 7) / 8 * 8);

  split(threads, units, [&](int thread, int64_t first, int64_t last) {
    Worker worker(r, p, e, numbers, scratch.zone(thread));
    Writer writer(r, results, scratch.zone(thread) + worker_bytes);
    Walk walk = Walk::over(g, is_kept);
    for (int64_t u = first; u < last; ++u) {
      const int64_t part = u % parts;
      walk.seek(g, u / parts);
      const Box box(g, walk, nullptr, true, false);
      if (straight) worker.straight = writer.straight(walk, box);
      worker.fold(walk, box.elements, reduced_boxes * part / parts, reduced_boxes * (part + 1) / parts);
      if (parts == 1) {
        const auto [result, second] = worker.found(box.elements);
        writer.write(walk, box, result, second);
      } else {
        std::memcpy(partial + u * r.state_bytes(), worker.level(0), size_t(r.state_bytes()));
        if (r.is_arg) std::memcpy(partial_at + u * r.kept_box, worker.at, size_t(box.elements) * 8);
      }
    }
  });
  if (parts == 1) return;

  // The parts of a kept box, in their order.
  const int finishers = threads_for(kept_boxes, units * r.kept_box);
  split(finishers, kept_boxes, [&](int thread, int64_t first, int64_t last) {
    Worker worker(r, p, e, numbers, scratch.zone(thread));
    Writer writer(r, results, scratch.zone(thread) + worker_bytes);
    Walk walk = Walk::over(g, is_kept);
    for (int64_t k = first; k < last; ++k) {
      walk.seek(g, k);
      const Box box(g, walk, nullptr, true, false);
      const int64_t at = k * parts * r.kept_box;
      if (r.is_arg) {
        worker.start(box.elements);
        for (int64_t part = 0; part < parts; ++part)
          r.arg.merge(worker.level(0), worker.at, partial + (at + part * r.kept_box) * r.acc_bytes,
                      partial_at + at + part * r.kept_box, box.elements);
      } else {
        char *const states = partial + k * parts * r.state_bytes();
        if (r.states.combine) {
          for (int64_t part = 0; part < parts; ++part)
            r.combine(worker.level(0), states + part * r.state_bytes(), box.elements, part == 0);
        } else {
          r.folds.rows(worker.level(0), states, box.elements, parts, r.kept_box, true);
        }
      }
      const auto [result, second] = worker.found(box.elements);
      writer.write(walk, box, result, second);
    }
  });
}

}  // namespace tcu::cpu
