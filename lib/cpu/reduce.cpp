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

// Kept boxes that lie nearer to one another than the next reduced box are folded side by side, so that memory is read in its order:
// so many at most, and of so many bytes of accumulators, which stay in L2.
constexpr int kAbreast = 32;
constexpr int64_t kAbreastBytes = 64 * 1024;

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

// Whether the next kept box lies nearer than the next reduced one.
bool kept_first(const Grid &g) {
  for (int m = 0; m < g.n; ++m)
    if (g.axis[m].count > 1) return kept_axis(g, m);
  return false;
}

Grid grid_of(const Problem &p, const ReduceCut &how) {
  Grid g = Grid::of(p.modes, p.n_operands());
  int widest = bytes_of(p.acc);
  for (int i = 0; i < p.n_inputs; ++i) widest = std::max(widest, bytes_of(p.in[i]));
  // Several rows of a kept box at least, where what is done for each kept element is more than an addition.
  if (info(p.op).numbers > 1) how.cut(g, kStateTile, kStateTile / 16);
  else how.cut(g, is_direct(p) && how.in_place ? kDirectTile : kTileBytes / widest, 2048);
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
  const int64_t reduced_boxes = r->grid.boxes([&](int m) { return !kept_axis(r->grid, m); });
  if (reduced_boxes > r->parts && kept_first(r->grid))
    r->abreast = std::clamp<int64_t>(kAbreastBytes / std::max<int64_t>(r->state_bytes(), 1), 1, kAbreast);
  r->inputs.assign(p.in, p.in + p.n_inputs);
  return r;
}

namespace {

// One thread's state: the machine that evaluates tiles and the accumulators of some kept boxes side by side.
struct Worker {
  const ReducePlan &r;
  const Problem &p;
  const Execution &e;
  Machine pre;
  char *levels, *scratch, *made;  // made: a tile's states
  int64_t *positions;
  int used[kLevels] = {};  // additions that a level has taken
  Walk reduced;
  struct Kept {
    Walk walk;
    int64_t elements;
    void *straight = nullptr;  // where the results belong, if the fold may leave them there
  } box[kAbreast];
  int boxes = 1;  // of them in use

  static size_t level_bytes(const ReducePlan &r) { return (size_t(r.state_bytes()) + 63) / 64 * 64 + 64; }
  static size_t bytes(const ReducePlan &r) {
    const size_t folding = r.states.combine ? level_bytes(r) + state_scratch(r.tile, r.acc_bytes)
                                            : size_t(r.tile + 64) * size_t(r.acc_bytes) * 2;
    return Machine::bytes(r.pre, r.tile) + size_t(r.abreast) * (kLevels * level_bytes(r) + size_t(r.kept_box) * 8) + folding + 64;
  }
  Worker(const ReducePlan &plan, const Problem &problem, const Execution &execution, const Numbers &numbers, char *zone)
      : r(plan), p(problem), e(execution), pre(plan.pre, numbers, plan.inputs.data(), plan.tile, zone) {
    levels = zone + Machine::bytes(r.pre, r.tile);
    positions = reinterpret_cast<int64_t *>(levels + size_t(r.abreast) * kLevels * level_bytes(r));
    made = reinterpret_cast<char *>(positions) + (size_t(r.abreast * r.kept_box) * 8 + 63) / 64 * 64;
    scratch = made + (r.states.combine ? level_bytes(r) : 0);
    reduced = Walk::over(r.grid, [&](int m) { return !kept_axis(r.grid, m); });
  }
  void *level(int k, int i) {
    if (i == 0 && box[k].straight) return box[k].straight;
    return levels + size_t(i * r.abreast + k) * level_bytes(r);
  }
  int64_t *at(int k) { return positions + k * r.kept_box; }

  void start() {
    std::fill_n(used, kLevels, 0);
    if (!r.is_arg) return;
    unsigned char lowest[16];
    store_compute(lowest, r.acc, identity_of(p.op, r.acc));
    for (int k = 0; k < boxes; ++k)
      for (int64_t i = 0; i < box[k].elements; ++i) {
        std::memcpy(static_cast<char *>(level(k, 0)) + i * r.acc_bytes, lowest, size_t(r.acc_bytes));
        at(k)[i] = std::numeric_limits<int64_t>::max();
      }
  }
  void combine(int to, int from, bool fresh) {
    for (int k = 0; k < boxes; ++k) r.combine(level(k, to), level(k, from), box[k].elements, fresh);
  }

  // A level that is full goes onto the next one.
  void carry() {
    ++used[0];
    for (int i = 0; r.cascade && i + 1 < kLevels && used[i] == kChain; ++i) {
      combine(i + 1, i, used[i + 1] == 0);
      used[i] = 0, ++used[i + 1];
    }
  }

  // Folds boxes first..last-1 of the reduced walk at each of the kept ones. The results lie in level(k, 0), and at(k).
  void fold(int64_t first, int64_t last) {
    start();
    reduced.seek(r.grid, first);
    int64_t here[kMaxOperands], next[kMaxOperands];  // the offsets of this box and of the one after it
    locate(0, here);
    for (int64_t t = first; t < last; ++t) {
      for (int k = 0; k < boxes; ++k) {
        const Box at(r.grid, box[k].walk, &reduced);
        if (k + 1 == boxes) reduced.next(r.grid);
        locate(k + 1 == boxes ? 0 : k + 1, next);
        fold_one(k, at, here, next);
        std::copy_n(next, r.grid.n_operands, here);
      }
      if (!r.is_arg) carry();
    }
    if (r.is_arg) return;
    int top = -1;
    for (int i = 0; i < kLevels; ++i) {
      if (!used[i]) continue;
      if (top >= 0) combine(i, top, false);
      top = i;
    }
    for (int k = 0; top > 0 && k < boxes; ++k) std::memcpy(level(k, 0), level(k, top), size_t(r.state_bytes()));
  }
  void locate(int k, int64_t *offset) const {
    std::fill_n(offset, r.grid.n_operands, int64_t(0));
    box[k].walk.offsets(r.grid, r.grid.n_operands, offset);
    reduced.offsets(r.grid, r.grid.n_operands, offset);
  }
  // A box of kept box k.
  void fold_one(int k, const Box &box, const int64_t *offset, const int64_t *next) {
    const auto source = [&](int i, const int64_t *at) { return static_cast<const char *>(e.at.in[i]) + at[1 + i] * bytes_of(p.in[i]); };
    const void *tile = nullptr;
    int64_t stride = 0;
    // Long rows of kept elements, some way apart: folded where they lie, though the box has gaps.
    if (r.direct && !r.is_arg && !r.states.combine && box.n == 2 && box.axis[0]->role == Role::K &&
        box.axis[1]->role == Role::R && box.axis[0]->stride[1] == 1 && box.axis[1]->stride[1] != 0 && box.extent[0] >= 64)
      tile = source(0, offset), stride = box.axis[1]->stride[1];
    if (!tile) {
      bool in_place[kMaxInputs];
      for (int i = 0; i < p.n_inputs; ++i) in_place[i] = pre.load(i, box, 1 + i, source(i, offset));
      tile = pre.run(pre.tile(), box.elements);
      // While rows of what was computed are added up, the next box comes from memory: float16 and int32 of 64 x 64 x 4096 over the last
      // dim take 1.05 and 1.9 ms instead of 1.15 and 2.8. Segments of 16 int32 lost 15 % by it.
      const bool rows = pre.computes() && box.n > 0 && box.axis[0]->role == Role::K;
      for (int i = 0; rows && i < p.n_inputs; ++i)
        for (int64_t b = 0; in_place[i] && b < box.elements * bytes_of(p.in[i]); b += 64) __builtin_prefetch(source(i, next) + b);
    }
    if (r.is_arg) {
      fold_box_arg(r.arg, r.acc_bytes, box, p.position_operand(), tile, offset[p.position_operand()], level(k, 0), at(k));
    } else if (r.states.combine) {
      r.states.of_tile(box, tile, made, r.kept_box, scratch);
      r.combine(level(k, 0), made, this->box[k].elements, used[0] == 0);
    } else {
      fold_box(r.folds, r.acc_bytes, box, tile, stride, level(k, 0), used[0] == 0, scratch, r.stream && this->box[k].straight);
    }
  }
  // The results of what lies in level(k, 0), and in at(k).
  struct Found {
    const void *result, *second;
  };
  Found found(int k) {
    void *const state = level(k, 0);
    if (r.is_arg) return {at(k), state};
    if (r.finish) r.finish(state, box[k].elements, r.kept_box, p.reduced(), e.correction);
    return {state, static_cast<char *>(state) + r.kept_box * r.acc_bytes};
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
  const bool abreast = r.abreast > 1;
  char *const partial = static_cast<char *>(e.workspace) + (-reinterpret_cast<uintptr_t>(e.workspace) & 63);
  int64_t *const partial_at = reinterpret_cast<int64_t *>(partial + (units * r.state_bytes() + 7) / 8 * 8);

  split(threads, units, [&](int thread, int64_t first, int64_t last) {
    Worker worker(r, p, e, numbers, scratch.zone(thread));
    Writer writer(r, results, scratch.zone(thread) + worker_bytes);
    for (auto &k : worker.box) k.walk = Walk::over(g, is_kept);
    for (int64_t u = first; u < last; u += worker.boxes) {
      const int64_t kept = abreast ? u % kept_boxes : u / parts, part = abreast ? u / kept_boxes : u % parts;
      worker.boxes = int(std::min({r.abreast, kept_boxes - kept, last - u}));
      for (int k = 0; k < worker.boxes; ++k) {
        Worker::Kept &at = worker.box[k];
        at.walk.seek(g, kept + k);
        const Box box(g, at.walk, nullptr, true, false);
        at.elements = box.elements;
        if (straight) at.straight = writer.straight(at.walk, box);
      }
      worker.fold(reduced_boxes * part / parts, reduced_boxes * (part + 1) / parts);
      for (int k = 0; k < worker.boxes; ++k) {
        Worker::Kept &at = worker.box[k];
        if (parts == 1) {
          const auto [result, second] = worker.found(k);
          writer.write(at.walk, Box(g, at.walk, nullptr, true, false), result, second);
        } else {
          const int64_t slot = (kept + k) * parts + part;
          std::memcpy(partial + slot * r.state_bytes(), worker.level(k, 0), size_t(r.state_bytes()));
          if (r.is_arg) std::memcpy(partial_at + slot * r.kept_box, worker.at(k), size_t(at.elements) * 8);
        }
      }
    }
  });
  if (parts == 1) return;

  // The parts of a kept box, in their order.
  const int finishers = threads_for(kept_boxes, units * r.kept_box);
  split(finishers, kept_boxes, [&](int thread, int64_t first, int64_t last) {
    Worker worker(r, p, e, numbers, scratch.zone(thread));
    Writer writer(r, results, scratch.zone(thread) + worker_bytes);
    Walk &walk = worker.box[0].walk = Walk::over(g, is_kept);
    for (int64_t k = first; k < last; ++k) {
      walk.seek(g, k);
      const Box box(g, walk, nullptr, true, false);
      worker.box[0].elements = box.elements;
      const int64_t at = k * parts * r.kept_box;
      if (r.is_arg) {
        worker.start();
        for (int64_t part = 0; part < parts; ++part)
          r.arg.merge(worker.level(0, 0), worker.at(0), partial + (at + part * r.kept_box) * r.acc_bytes,
                      partial_at + at + part * r.kept_box, box.elements);
      } else {
        char *const states = partial + k * parts * r.state_bytes();
        if (r.states.combine) {
          for (int64_t part = 0; part < parts; ++part)
            r.combine(worker.level(0, 0), states + part * r.state_bytes(), box.elements, part == 0);
        } else {
          r.folds.rows(worker.level(0, 0), states, box.elements, parts, r.kept_box, true);
        }
      }
      const auto [result, second] = worker.found(0);
      writer.write(walk, box, result, second);
    }
  });
}

}  // namespace tcu::cpu
