#include "cpu/scan.h"

#include <cstring>

#include "cpu/fold_box.h"
#include "cpu/threads.h"

namespace tcu::cpu {
namespace {

Grid grid_of(const Problem &p, ScanCut cut, int64_t room, int64_t *start) {
  Grid g = Grid::of(p.modes, p.n_operands());
  const int s = scanned_mode(p);
  if (g.n && p.scan.reverse)
    for (int k = 0; k < g.n_operands; ++k) {
      if (start) start[k] = (g.axis[s].extent - 1) * g.axis[s].stride[k];
      g.axis[s].stride[k] = -g.axis[s].stride[k];
    }
  cut(g, s, room);
  return g;
}

constexpr int64_t kRunSteps = 512;

size_t round64(int64_t bytes) { return (size_t(bytes) + 63) / 64 * 64; }

}  // namespace

LaunchConfig configure_scan(const Problem &p, ScanCut cut) {
  const Grid g = grid_of(p, cut, kTileBytes / 8, nullptr);
  const int s = scanned_mode(p);
  LaunchConfig c;
  c.grid = g.boxes([s](int m) { return m != s; });
  return c;
}

std::shared_ptr<const void> prepare_scan(const Problem &p, ScanCut cut) {
  auto r = std::make_shared<ScanPlan>();
  Builder b(*p.expr, p.in, p.n_inputs);
  if (p.op == ReduceOp::count || p.op == ReduceOp::any || p.op == ReduceOp::all) b.cast(DType::bool_);
  b.cast(p.acc);
  r->pre = compile(b, p.acc);
  if (p.gated()) {
    const DType gate = p.scan.segmented ? DType::bool_ : p.acc;
    Builder g = Builder::first_of(*p.expr, p.in, p.n_inputs);
    g.cast(gate);
    r->gate = compile(g, gate);
    r->gated = gated_scan_of(p.op, p.acc);
  }
  r->post = make_stage(p.acc, p.out, p.reads_out);
  r->folds = folds(table(), p.op, p.acc);
  r->acc = p.acc, r->acc_bytes = bytes_of(p.acc);
  r->runs = p.op == ReduceOp::sum && !p.gated() && (kind_of(p.acc) == Kind::Float || kind_of(p.acc) == Kind::Complex);
  r->s = scanned_mode(p);
  r->grid = grid_of(p, cut, kTileBytes / std::max({r->pre.widest, r->gate.widest, r->post.scaled.widest}), r->start);
  r->tile = r->grid.box_elements();
  r->lanes = 1;
  for (int m = 0; m < r->s; ++m) r->lanes *= r->grid.axis[m].step;
  r->inputs.assign(p.in, p.in + p.n_inputs);
  return r;
}

size_t LineScanner::bytes(const ScanPlan &r, const Program &post) {
  const size_t machines = Machine::bytes(r.pre, r.tile) + Machine::bytes(r.gate, r.tile) + Machine::bytes(post, r.tile);
  return machines + 2 * round64(r.tile * r.acc_bytes) + 2 * round64(r.lanes * r.acc_bytes) + 64;
}

LineScanner::LineScanner(const ScanPlan &r, const Problem &p, const Execution &e, const ScanNumbers &numbers, const Program &post,
                         char *zone)
    : r_(r), p_(p), e_(e), numbers_(numbers), pre_(r.pre, numbers.pre, r.inputs.data(), r.tile, zone),
      gate_(r.gate, numbers.gate, r.inputs.data(), r.tile, zone += Machine::bytes(r.pre, r.tile)),
      post_(post, numbers.post, (post_types_[0] = r.acc, post_types_[1] = p.out, post_types_), r.tile,
            zone += Machine::bytes(r.gate, r.tile)) {
  scanned_ = zone + Machine::bytes(post, r.tile);
  again_ = scanned_ + round64(r.tile * r.acc_bytes), run_ = again_ + round64(r.tile * r.acc_bytes);
  nothing_ = run_ + round64(r.lanes * r.acc_bytes);
  Scalar zero{};  // -0, which a sum with anything leaves as it is
  zero.c[0] = -0.0;
  if (kind_of(r.acc) == Kind::Complex) zero.c[1] = -0.0;
  if (r.runs) store_compute(nothing_, r.acc, zero), table().fill(nothing_, nothing_, r.lanes, r.acc_bytes);
  along_ = Walk::over(r.grid, [&](int m) { return m == r.s; });
  stream_ = p.kept() * r.grid.axis[r.s].extent * bytes_of(p.out) >= kStreamBytes && !p.in_place && !p.reads_out;
}

void LineScanner::offsets(const Walk &kept, int64_t *offset) const {
  std::copy_n(r_.start, r_.grid.n_operands, offset);
  kept.offsets(r_.grid, r_.grid.n_operands, offset);
  along_.offsets(r_.grid, r_.grid.n_operands, offset);
}

// ahead: gets what lies so many boxes further along, of the inputs that are read in place.
const void *LineScanner::evaluate(Machine &machine, const Box &box, const int64_t *offset, Ahead *ahead, int64_t boxes) {
  const Grid::Axis &s = r_.grid.axis[r_.s];
  for (int i = 0; i < p_.n_inputs; ++i) {
    const int64_t bytes = bytes_of(p_.in[i]);
    const char *const at = static_cast<const char *>(e_.at.in[i]) + offset[1 + i] * bytes;
    if (machine.load(i, box, 1 + i, at) && ahead) ahead->add(at + boxes * s.step * s.stride[1 + i] * bytes);
  }
  return machine.run(machine.tile(), box.elements);
}

int64_t LineScanner::lanes_of(const Box &box) const {
  int64_t lanes = 1;
  for (int i = 0; i < box.n && box.axis[i] < &r_.grid.axis[r_.s]; ++i) lanes *= box.extent[i];
  return lanes;
}

void LineScanner::begin_run() {
  if (r_.runs) std::memcpy(run_, nothing_, size_t(r_.lanes * r_.acc_bytes));
}
void LineScanner::end_run(void *carry) {
  if (r_.runs) r_.folds.rows(carry, run_, r_.lanes, 1, 0, false);
  begin_run();
}

void LineScanner::scan(const Walk &kept, int64_t first, int64_t last, void *carry, int64_t ahead) {
  const Grid &g = r_.grid;
  along_.seek(g, first);
  begin_run();
  int64_t run = 0;  // steps since then
  for (int64_t t = first; t < last; ++t, along_.next(g)) {
    int64_t offset[kMaxOperands];
    offsets(kept, offset);
    const Box box(g, kept, &along_);
    char *const out = static_cast<char *>(e_.at.out) + offset[0] * bytes_of(p_.out);
    const bool flat = box.flat(0), straight = flat && !stream_;
    Ahead next;
    const bool more = stream_ && t + ahead < g.axis[r_.s].count;
    const char *from = static_cast<const char *>(evaluate(pre_, box, offset, more ? &next : nullptr, ahead));
    const char *gate = r_.gated ? static_cast<const char *>(evaluate(gate_, box, offset)) : nullptr;
    char *to = straight && !post_.computes() ? out : scanned_;

    const int64_t lanes = lanes_of(box), rows = g.axis[r_.s].count == 1 ? g.axis[r_.s].extent : box.elements / lanes;
    const int64_t line = lanes * rows, outer = box.elements / line;
    const bool aligned = reinterpret_cast<uintptr_t>(out) % 64 == 0;  // else every piece would end within a cache line
    if (flat && stream_ && aligned && !gate && outer == 1 && lanes == 1 && !post_.computes()) {  // in pieces, as a broadcast
      const int64_t piece = kStreamPieceBytes / r_.acc_bytes;
      for (int64_t done = 0; done < rows; done += piece) {
        const int64_t n = std::min(piece, rows - done), at = done * r_.acc_bytes;
        r_.folds.scan(scanned_, from + at, 1, n, carry, r_.runs ? run_ : nullptr, p_.scan.exclusive);
        table().stream(out + at, scanned_, n * r_.acc_bytes, next.from(at));
      }
      end_run(carry);
      continue;
    }
    char *const beside = r_.runs && (outer == 1 || rows > kRunSteps) ? run_ : nullptr;  // else a line is no longer than a run
    for (int64_t o = 0; o < outer; ++o) {
      void *c = carry;
      if (outer > 1) c = std::memcpy(again_, carry, size_t(lanes * r_.acc_bytes));
      const int64_t at = o * line * r_.acc_bytes;
      if (!gate) r_.folds.scan(to + at, from + at, lanes, rows, c, beside, p_.scan.exclusive);
      else r_.gated(to + at, gate + o * line * bytes_of(r_.gate.result_dtype), from + at, lanes, rows, c, numbers_.init, p_.scan.exclusive);
      if (outer > 1 && beside) begin_run();
    }
    if ((run += rows) >= kRunSteps || t + 1 == last) end_run(carry), run = 0;
    post_.point(0, to);
    if (p_.reads_out) post_.load(1, box, 0, out);
    store(box, 0, out, post_.run(straight ? out : post_.tile(), box.elements), bytes_of(p_.out), stream_, next);
  }
  flush_streams();
}

void LineScanner::total(const Walk &kept, int64_t first, int64_t last, void *carry) {
  along_.seek(r_.grid, first);
  for (int64_t t = first; t < last; ++t, along_.next(r_.grid)) {
    int64_t offset[kMaxOperands];
    offsets(kept, offset);
    const Box box(r_.grid, kept, &along_);
    const void *from = evaluate(pre_, box, offset);
    const int64_t lanes = lanes_of(box);
    if (lanes == 1) {
      r_.folds.segments(again_, from, box.elements, 1, false);
      r_.folds.rows(carry, again_, 1, 1, 0, false);
    } else {
      fold_lanes(r_.folds, r_.acc_bytes, carry, from, lanes, box.elements / lanes, lanes, false);
    }
  }
}

void launch_scan(const Plan &plan, const Execution &e, Backend &) {
  const auto &r = *static_cast<const ScanPlan *>(plan.prepared.get());
  const Problem &p = plan.problem;
  const Grid &g = r.grid;
  const Program &post = r.post.choose(e);
  const ScanNumbers numbers(r, post, e);
  const auto is_kept = [&](int m) { return m != r.s; };
  const int64_t units = g.boxes(is_kept), along = g.axis[r.s].count;
  const int threads = threads_for(units, units * along * r.tile);
  const size_t scanner_bytes = (LineScanner::bytes(r, post) + 63) / 64 * 64;
  const Scratch scratch(threads, scanner_bytes + round64(r.lanes * r.acc_bytes));

  split(threads, units, [&](int thread, int64_t first, int64_t last) {
    LineScanner line(r, p, e, numbers, post, scratch.zone(thread));
    char *const carry = scratch.zone(thread) + scanner_bytes;
    Walk walk = Walk::over(g, is_kept);
    walk.seek(g, first);
    for (int64_t u = first; u < last; ++u, walk.next(g)) {
      for (int64_t i = 0; i < r.lanes; ++i) std::memcpy(carry + i * r.acc_bytes, numbers.init, size_t(r.acc_bytes));
      line.scan(walk, 0, along, carry, 1);
    }
  });
}

}  // namespace tcu::cpu
