// scan.split: few long lines, "S" or "S K" or "K S" with little K.
// A line is cut into chunks of which the threads' fit the shared cache together. In rounds, each thread takes one chunk: it
// folds it to a total, all threads meet, and each starts its chunk from the totals before it; what it then scans is still in
// the cache, and while it writes that past the caches it fetches its next chunk, so memory is read once and written once,
// both at the same time. One thread alone carries on from chunk to chunk and needs no totals.
#include <cstring>

#include "cpu/rows.h"
#include "cpu/scan.h"
#include "cpu/threads.h"

namespace tcu::cpu {
namespace {

// Chunks that fit a core's own cache (256 KiB) are 15 % faster on an idle machine; but a round costs a barrier, and on a busy
// one each barrier waits for its turn: with two other programs on two cores 16 times as many took 12 times as long.
constexpr int64_t kChunkBytes = 4 << 20;

// One line a box: modes outside S stay out of it.
void cut(Grid &g, int s, int64_t room) {
  const int64_t lanes = g.fill(room / 4, [s](int m) { return m < s; });
  g.set_step(s, std::min(g.axis[s].extent, room / lanes));
}
bool accepts(const Problem &p, const Device &) {
  if (p.modes.size() == 0 || p.gated()) return false;  // a gated line is one thread's: totals would have to be pairs
  const int64_t kept = p.kept(), s = p.modes[scanned_mode(p)].extent;
  if (kept == 0 || kept > 64 || s * kept < (1 << 18)) return false;
  // Lines that threads can share whole are better off so.
  int64_t outside = 1;
  for (int m = scanned_mode(p) + 1; m < p.modes.size(); ++m) outside *= p.modes[m].extent;
  return outside <= 8;
}
LaunchConfig configure(const Problem &p, const Device &) { return configure_scan(p, cut); }
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &, Backend &) { return prepare_scan(p, cut); }

void launch(const Plan &plan, const Execution &e, Backend &) {
  const auto &r = *static_cast<const ScanPlan *>(plan.prepared.get());
  const Problem &p = plan.problem;
  const Grid &g = r.grid;
  const Program &post = r.post.choose(e);
  const ScanNumbers numbers(r, post, e);
  const auto is_kept = [&](int m) { return m != r.s; };
  const int64_t units = g.boxes(is_kept), boxes = g.axis[r.s].count;
  const int64_t chunk = std::max<int64_t>(1, kChunkBytes / (r.tile * r.acc_bytes)), chunks = (boxes + chunk - 1) / chunk;
  const int threads = threads_for(chunks, units * boxes * r.tile);
  const size_t scanner_bytes = (LineScanner::bytes(r, post) + 63) / 64 * 64;
  const size_t lane_bytes = size_t(r.lanes * r.acc_bytes), slot = (lane_bytes + 63) / 64 * 64;
  const Scratch scratch(threads, scanner_bytes + 4 * slot);
  unsigned char identity[16];
  store_compute(identity, r.acc, identity_of(p.op, r.acc));
  const auto spread = [&](char *to, const unsigned char *value) {
    for (int64_t i = 0; i < r.lanes; ++i) std::memcpy(to + i * r.acc_bytes, value, size_t(r.acc_bytes));
  };

#pragma omp parallel num_threads(threads)
  {
    const int team = omp_get_num_threads(), me = omp_get_thread_num();
    LineScanner line(r, p, e, numbers, post, scratch.zone(me));
    // Totals of even and odd rounds apart: a thread may start a round while another still reads the last one's.
    const auto totals = [&](int thread, int64_t round) { return scratch.zone(thread) + scanner_bytes + size_t(round % 2) * slot; };
    char *const before = scratch.zone(me) + scanner_bytes + 2 * slot, *const mine = before + slot;
    Walk walk = Walk::over(g, is_kept);
    int64_t round = 0;
    for (int64_t u = 0; u < units; ++u) {
      walk.seek(g, u);
      spread(before, numbers.init);
      for (int64_t c0 = 0; c0 < chunks; c0 += team, ++round) {
        const int64_t c = c0 + me;
        const int64_t first = std::min(c * chunk, boxes), last = std::min(first + chunk, boxes);
        if (team > 1) {
          spread(totals(me, round), identity);
          line.total(walk, first, last, totals(me, round));
#pragma omp barrier
        }
        std::memcpy(mine, before, lane_bytes);
        for (int t = 0; t < team && team > 1; ++t) {
          r.folds.rows(before, totals(t, round), r.lanes, 1, 0, false);
          if (t < me) std::memcpy(mine, before, lane_bytes);
        }
        line.scan(walk, first, last, mine, team > 1 ? team * chunk : 1);
        if (team == 1) std::memcpy(before, mine, lane_bytes);
      }
    }
  }
}

}  // namespace

Kernel scan_split() { return {"scan.split", Family::scan, accepts, configure, prepare, launch}; }

}  // namespace tcu::cpu
