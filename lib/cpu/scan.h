// What the scan rows share: a row says how modes are cut; then, along each line of boxes, the S mode is walked in order with
// a carry per lane (a lane is one element of the kept modes that lie inside the S mode).
#pragma once
#include "cpu/gated_scan.h"
#include "cpu/post.h"

namespace tcu::cpu {

struct ScanPlan {
  Program pre, gate;          // gate: only of a scan that has one, as is `gated`
  GatedScan gated = nullptr;
  Stage post;
  Folds folds;
  Grid grid;       // the S mode turned around for a reverse scan
  int64_t start[kMaxOperands] = {};  // offset of the first element, in elements
  int s;           // the S axis
  int64_t tile, lanes;
  int acc_bytes;
  bool runs;       // long lines have a run beside the carry (Folds::scan)
  DType acc;
  std::vector<DType> inputs;
};

using ScanCut = void (*)(Grid &, int s, int64_t room);
LaunchConfig configure_scan(const Problem &p, ScanCut cut);
std::shared_ptr<const void> prepare_scan(const Problem &p, ScanCut cut);
void launch_scan(const Plan &plan, const Execution &e, Backend &backend);

inline int scanned_mode(const Problem &p) {
  for (int m = 0; m < p.modes.size(); ++m)
    if (p.modes[m].role == Role::S) return m;
  return 0;
}

// What the programs take by value, and what a line starts from.
struct ScanNumbers {
  Numbers pre, gate, post;
  alignas(16) unsigned char init[16];
  ScanNumbers(const ScanPlan &r, const Program &post, const Execution &e) : pre(r.pre, e), gate(r.gate, e), post(post, e) {
    store_compute(init, r.acc, e.init);
  }
};

// One thread's way along a line.
class LineScanner {
 public:
  static size_t bytes(const ScanPlan &r, const Program &post);
  LineScanner(const ScanPlan &r, const Problem &p, const Execution &e, const ScanNumbers &numbers, const Program &post, char *zone);
  // Boxes first..last-1 of the S mode, at one box of the kept modes. carry[lanes] goes in and out; where a box holds several
  // lines one after another (modes outside S), every one starts from carry and it does not come out.
  // ahead: so many boxes further along lies what this thread reads next.
  void scan(const Walk &kept, int64_t first, int64_t last, void *carry, int64_t ahead);
  // Only the fold of these elements, onto carry.
  void total(const Walk &kept, int64_t first, int64_t last, void *carry);

 private:
  const void *evaluate(Machine &machine, const Box &box, const int64_t *offset, Ahead *ahead = nullptr, int64_t boxes = 0);
  int64_t lanes_of(const Box &box) const;
  void offsets(const Walk &kept, int64_t *offset) const;
  void begin_run();
  void end_run(void *carry);  // it becomes part of the carry

  const ScanPlan &r_;
  const Problem &p_;
  const Execution &e_;
  const ScanNumbers &numbers_;
  Machine pre_, gate_, post_;
  DType post_types_[2];
  char *scanned_, *again_, *run_, *nothing_;  // nothing_: a run of no steps
  Walk along_;
  bool stream_;
};

}  // namespace tcu::cpu
