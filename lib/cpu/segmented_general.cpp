// segmented.general: segments of one R mode, whose ends are data. Threads share the kept elements, of which each segment is one;
// an output's elements are evaluated tile by tile and folded onto what came before.
// Offsets that fall, or that lie outside the mode, are taken as if they did not: no element outside is read.
#include <algorithm>
#include <cstring>
#include <limits>

#include "cpu/reduce.h"
#include "cpu/rows.h"
#include "cpu/threads.h"

namespace tcu::cpu {
namespace {

// Boxes of a few neighbouring outputs; the R mode is walked by hand.
void cut(Grid &g, int64_t, int64_t) {
  bool first = true;
  for (int m = 0; m < g.n; ++m) {
    if (g.axis[m].role == Role::R) continue;
    g.set_step(m, first ? std::clamp<int64_t>(g.axis[m].extent, 1, 64) : 1);
    first = false;
  }
}
constexpr ReduceCut how{cut, false, false};
constexpr int64_t kTile = 2048;  // elements that are evaluated at a time

bool accepts(const Problem &, const Device &) { return true; }
LaunchConfig configure(const Problem &p, const Device &) {
  LaunchConfig c;
  c.grid = p.kept();
  return c;
}
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_reduce(p, how); }

// One thread's way through segments.
struct Segments {
  const ReducePlan &r;
  const Problem &p;
  const Execution &e;
  Machine pre;
  Grid::Axis axis{};  // the R mode; all strides 0 where it has one element
  alignas(16) unsigned char best[32], part[32];
  char *scratch;  // of a state of several numbers

  static size_t bytes(const ReducePlan &r) {
    return (Machine::bytes(r.pre, kTile) + 127) / 64 * 64 + (r.states.combine ? state_scratch(kTile, r.acc_bytes) : 0);
  }
  Segments(const ReducePlan &plan, const Problem &problem, const Execution &execution, const Numbers &numbers, char *zone)
      : r(plan), p(problem), e(execution), pre(plan.pre, numbers, plan.inputs.data(), kTile, zone),
        scratch(zone + (Machine::bytes(r.pre, kTile) + 127) / 64 * 64) {
    axis.extent = 1, axis.role = Role::R;
    for (int m = 0; m < r.grid.n; ++m)
      if (r.grid.axis[m].role == Role::R) axis = r.grid.axis[m];
  }

  int64_t offset(int64_t at) const {
    return p.offsets == DType::i32 ? static_cast<const int32_t *>(e.at.offsets)[at] : static_cast<const int64_t *>(e.at.offsets)[at];
  }
  // The fold of the segment at these offsets of the operands, into `best`, or its position, which is returned.
  int64_t fold(const int64_t *at) {
    const int64_t from = std::clamp<int64_t>(offset(at[p.offsets_operand()]), 0, axis.extent);
    const int64_t to = std::clamp<int64_t>(offset(at[p.offsets_operand()] + 1), from, axis.extent);
    int64_t position = std::numeric_limits<int64_t>::max();
    if (r.states.of_nothing) r.states.of_nothing(best, 1);
    else store_compute(best, r.acc, identity_of(p.op, r.acc));
    bool fresh = true;
    for (int64_t first = from; first < to; first += kTile) {
      Box box;
      box.elements = std::min(kTile, to - first);
      if (box.elements > 1) box.n = 1, box.extent[0] = box.elements, box.axis[0] = &axis;
      for (int i = 0; i < p.n_inputs; ++i)
        pre.load(i, box, 1 + i, static_cast<const char *>(e.at.in[i]) + (at[1 + i] + first * axis.stride[1 + i]) * bytes_of(p.in[i]));
      const void *const tile = pre.run(pre.tile(), box.elements);
      if (r.is_arg) {
        r.arg.run(best, &position, tile, box.elements, first - from, 1);
      } else if (r.states.combine) {
        r.states.of_tile(box, tile, part, 1, scratch);
        r.states.combine(best, part, 1, 1);
      } else {
        r.folds.segments(part, tile, box.elements, 1, false);
        r.folds.rows(best, part, 1, 1, 0, fresh);
      }
      fresh = false;
    }
    if (r.finish) r.finish(best, 1, 1, to - from, e.correction);
    return position == std::numeric_limits<int64_t>::max() ? 0 : position;
  }
};

void launch(const Plan &plan, const Execution &e, Backend &) {
  const auto &r = *static_cast<const ReducePlan *>(plan.prepared.get());
  const Problem &p = plan.problem;
  const Grid &g = r.grid;
  const auto is_kept = [&](int m) { return g.axis[m].role == Role::K; };
  const int64_t boxes = g.boxes(is_kept);
  const Results to(r, p, e);
  const Numbers numbers(r.pre, e);
  const size_t machine = (Segments::bytes(r) + 63) / 64 * 64, results = (size_t(r.kept_box) * 16 + 127) / 64 * 64;
  const int threads = threads_for(boxes, std::max(p.kept(), p.reduced()));
  const Scratch scratch(threads, machine + 2 * results + Writer::bytes(r, to));

  split(threads, boxes, [&](int thread, int64_t first, int64_t last) {
    char *const zone = scratch.zone(thread), *const acc = zone + machine, *const second = acc + results;
    Segments segments(r, p, e, numbers, zone);
    Writer writer(r, to, second + results);
    Walk walk = Walk::over(g, is_kept);
    for (int64_t u = first; u < last; ++u) {
      walk.seek(g, u);
      const Box box(g, walk, nullptr, true, false);
      int64_t at[kMaxOperands] = {};
      walk.offsets(g, g.n_operands, at);
      for (int64_t j = 0; j < box.elements; ++j) {
        const int64_t position = segments.fold(at);
        std::memcpy(second + j * r.acc_bytes, segments.best + (r.is_arg ? 0 : r.acc_bytes), size_t(r.acc_bytes));
        if (r.is_arg) std::memcpy(acc + j * 8, &position, 8);
        else std::memcpy(acc + j * r.acc_bytes, segments.best, size_t(r.acc_bytes));
        for (int k = 0; k < g.n_operands && box.n > 0; ++k) at[k] += box.axis[0]->stride[k];
      }
      writer.write(walk, box, acc, second);
    }
  });
}

}  // namespace

Kernel segmented_general() { return {"segmented.general", Family::segmented, accepts, configure, prepare, launch}; }

}  // namespace tcu::cpu
