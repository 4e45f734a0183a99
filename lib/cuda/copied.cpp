#include "cuda/copied.h"

#include <algorithm>

#include "core/rewrites.h"
#include "cuda/rows.h"
#include "kernels/broadcast_permute.cuh"
#include "kernels/scan_along.cuh"
#include "plan/planner.h"

namespace tcu::cuda::rows {
namespace {

// The two launches, and the input that the first one copies; the second finds in out what the first left. kAll: of a map of all inputs.
struct Halves {
  std::shared_ptr<const Plan> copy, rest;
  int input;
};
constexpr int kAll = -1;
const Halves &halves(const Plan &plan) { return *static_cast<const Halves *>(plan.prepared.get()); }

const Kernel &row_of(const Problem &p, const Device &d) { return *choose(registry(), p, d); }
std::shared_ptr<const void> planned(const Problem &copy, const Problem &rest, int input, Backend &backend, bool now = false) {
  const auto on_its_row = [&](const Problem &p) { return plan_on(row_of(p, backend.device()), p, backend, now); };
  const Halves made{on_its_row(copy), on_its_row(rest), input};
  return made.copy && made.rest ? std::make_shared<const Halves>(made) : nullptr;
}
// What both launches ask for, one after the other: the first, a map, needs at most some memory that is zero, and leaves it so.
LaunchConfig configured(const Problem &map, const Problem &rest, const Device &d) {
  const size_t zeroed = row_of(map, d).configure(map, d).zeroed_bytes;
  LaunchConfig c = row_of(rest, d).configure(rest, d);
  if (zeroed <= c.zeroed_bytes) return c;
  c.leaves_zero |= c.zeroed_bytes == 0;
  c.workspace_bytes += zeroed - c.zeroed_bytes, c.zeroed_bytes = zeroed;
  return c;
}

// An input that out can hold while the others are read, and that leaves none of these across another; 0 if there is none.
int to_copy(const Problem &p) {
  for (int k = 1; k <= p.n_inputs; ++k) {
    if (p.in[k - 1] != p.out || !has_every_mode(p, k) || !BroadcastPermute::jumps(p, k)) continue;
    const Problem rest = as_map_of_out(p, k);
    if (!BroadcastPermute::crosses(rest)) return k;
  }
  return 0;
}

}  // namespace

void Copied::launch(const Plan &plan, const Execution &e, Backend &backend) {
  const auto &[copy, rest, input] = halves(plan);
  Execution first = e, second = e;
  first.alpha = first.beta = make_scalar(copy->post, 1);
  if (input != kAll) first.at.in[0] = e.at.in[input];
  second.at.in[input == kAll ? 0 : input] = e.at.out;
  copy->kernel->launch(*copy, first, backend);
  rest->kernel->launch(*rest, second, backend);
}
bool Copied::compiled(const Plan &plan) {
  const auto &[copy, rest, input] = halves(plan);
  return copy->kernel->compiled(*copy) || rest->kernel->compiled(*rest);
}

namespace {
constexpr size_t kAligned = 256, kMostRoom = 1 << 30;  // bytes; more than that a device may not have
size_t room_of(const Problem &p) { return size_t(p.kept() * bytes_of(room_dtype(p))); }
}  // namespace

// Where results do not lie as what they are reduced of does.
bool ReduceCopied::accepts(const Problem &p, const Device &) {
  if (p.n_more > 0 || p.empty() || p.reduced() == 0) return false;
  if (p.reads_out && (is_arg(p.op) || compute_dtype(p.acc) != p.acc)) return false;  // the map is to have alpha and beta as the reduction would
  int64_t last = 0;
  for (const Mode &m : p.modes)
    if (m.role == Role::K) {
      const int64_t stride = std::abs(m.stride[0]);
      if (stride < last) return true;
      last = stride;
    }
  return false;
}
// Many results of few elements each, of which neighbours in memory go to other sectors. (H200, 16, 48 and 192 MB of all widths, in results of 2 to 128 in
// three orders, time over the best other row's: 0.10 to 0.7 where a result has 2 or 3, but 16 MB up to 1.0; 0.25 to 1.0 of 8, positions in 16 MB up to 1.23;
// 0.3 to 1.09 of 24, such positions up to 1.45; 0.7 to 1.09 of more. Where what is read is long rows of results, more than 64 bytes each take 0.96 to 1.6.)
bool ReduceCopied::suits(const Problem &p, const Device &) {
  const Mode &next = *fastest(p, Role::K);
  const int bytes = bytes_of(p.in[leading_input(p) - 1]);
  const bool in_rows = p.modes[0].role == Role::K && p.modes[0].extent * bytes >= 64;
  const bool scattered = std::abs(next.stride[0]) * bytes_of(p.out) >= 32, many = p.kept() >= 1 << 18 && room_of(p) <= kMostRoom;
  return scattered && many && p.reduced() * bytes <= (in_rows ? 64 : 256);
}
LaunchConfig ReduceCopied::configure(const Problem &p, const Device &d) {
  LaunchConfig c = configured(as_map_of_room(p), as_reduction_to_room(p), d);
  c.workspace_bytes += kAligned + room_of(p);
  return c;
}
std::shared_ptr<const void> ReduceCopied::prepare(const Problem &p, const LaunchConfig &, Backend &backend) {
  return planned(as_reduction_to_room(p), as_map_of_room(p), 0, backend);
}
void ReduceCopied::launch(const Plan &plan, const Execution &e, Backend &backend) {
  const auto &[reduction, map, input] = halves(plan);
  const LaunchConfig &c = plan.config;
  const auto behind = reinterpret_cast<uintptr_t>(e.workspace) + (c.workspace_bytes - c.zeroed_bytes - room_of(plan.problem));
  void *const room = reinterpret_cast<void *>(behind / kAligned * kAligned);  // kAligned bytes before it are nobody's
  Execution first = e, second = e;
  first.at.out = room, second.at.in[0] = room;
  if (plan.problem.reads_out) first.alpha = make_scalar(reduction->post, 1);
  else second.alpha = second.beta = make_scalar(map->post, 1);
  reduction->kernel->launch(*reduction, first, backend);
  map->kernel->launch(*map, second, backend);
}

bool ScanCopied::accepts(const Problem &p, const Device &) {
  if (p.empty() || !holds_elements(p)) return false;
  for (int k = 1; k <= p.n_inputs; ++k)
    if (!lies_as(p, k, 0)) return true;
  return false;
}
namespace {
// Lines that are short runs of the input, one after another, as out's neighbours are: a warp of scan.general reads all of what it has from memory. (H200, 24
// and 96 MB of 4 to 14 float32 and int32, 4 and 7 float64: 0.56 to 0.88 of the time, of two 0.72 to 1.06, of 25 0.93 to 1.16.)
bool reads_short_runs(const Problem &p) {
  const Mode &line = *fastest(p, Role::S), *const next = fastest(p, Role::K);
  const int bytes = bytes_of(p.in[0]);
  const bool in_turn = line.stride[1] == 1 && next && next->stride[1] == line.extent && next->stride[0] == 1 && next->extent >= 32;
  return in_turn && p.n_inputs == 1 && bytes >= 4 && line.extent * bytes <= 56 && p.bytes() >= 4 << 20;
}
// Whether an input's elements lie elsewhere in out: what neighbours there read is a sector and more apart, and what lies beside it in memory is not read
// at about the same time.
bool is_scattered(const Problem &p, int input) {
  const Mode &line = *fastest(p, Role::S);
  const int bytes = bytes_of(p.in[input - 1]);
  const int64_t together = line.stride[0] == 1 && line.stride[input] == 1 ? line.extent : 1;  // neighbours both in out and in the input
  const auto jumps = [&](const Mode &m) { return m.stride[0] == together && m.stride[input] * bytes >= 32; };
  const auto follows = [&](const Mode &m) { return m.stride[0] != together && m.stride[input] == together; };
  const auto next = std::find_if(p.modes.begin(), p.modes.end(), follows);
  if (together * bytes >= 64 || next == p.modes.end() || std::none_of(p.modes.begin(), p.modes.end(), jumps)) return false;
  return together == 1 || together * bytes < 8 || next->stride[0] > 128 * together;
}
}  // namespace

// Where there is some, and an input is scattered. Of 22 random permuted scans of 12 MB and more 19 were faster than by any other row, 0.18 to 0.71 of the
// time, and three slower, up to 1.25 (H100); of 26 of 4 to 12 MB 21, 0.24 to 0.99, and four by more than 5 %, up to 2.5. So are lines of less than two
// sectors that lie in another order (H200: lines of 5 float16 and of 14 float32, 44 and 106 MB, 0.20 and 0.36 of the time), but near each other, which
// scan.tiles and scan.lines have (0.44 to 0.92 of this row's time in eleven of 3 to 16 elements, of less than eight bytes 1.0 to 1.2). And in place of
// scan.general, whatever there is: of 36 of less than 8 bytes an element 32 were faster, 0.22 to 0.94 of the time, three slower, up to 1.32; of 22 of
// 8 bytes, or of integers whose sums are, 11 and 7, 0.65 to 1.7.
bool ScanCopied::suits(const Problem &p, const Device &d) {
  if (row_without(Family::scan, accepts, p, d).accepts == ScanGeneral::accepts) return !reads_short_runs(p);
  if (p.bytes() < 4 << 20) return false;
  for (int i = 1; i <= p.n_inputs; ++i)
    if (is_scattered(p, i)) return true;
  return false;
}
LaunchConfig ScanCopied::configure(const Problem &p, const Device &d) { return configured(as_map_to_out(p), as_scan_of_out(p), d); }
std::shared_ptr<const void> ScanCopied::prepare(const Problem &p, const LaunchConfig &, Backend &backend) {
  return planned(as_map_to_out(p), as_scan_of_out(p), kAll, backend);
}

bool BroadcastCopied::accepts(const Problem &p, const Device &d) {
  return p.n_inputs > 1 && !p.empty() && !p.in_place && !p.reads_out && BroadcastPermute::accepts(p, d) && BroadcastPermute::crosses(p) &&
         to_copy(p) > 0;
}
bool BroadcastCopied::suits(const Problem &p, const Device &) { return BroadcastPermute::scatters(p) && !BroadcastPermute::uses_sectors(p); }
LaunchConfig BroadcastCopied::configure(const Problem &p, const Device &d) {
  const int k = to_copy(p);
  return configured(as_copy_to_out(p, k), as_map_of_out(p, k), d);
}
namespace {
std::shared_ptr<const void> plan_map(const Problem &p, Backend &backend, bool now) {
  const int k = to_copy(p);
  return planned(as_copy_to_out(p, k), as_map_of_out(p, k), k - 1, backend, now);
}
}  // namespace
std::shared_ptr<const void> BroadcastCopied::prepare(const Problem &p, const LaunchConfig &, Backend &backend) { return plan_map(p, backend, false); }
std::shared_ptr<const void> BroadcastCopied::prepare_now(const Problem &p, const LaunchConfig &, Backend &backend) { return plan_map(p, backend, true); }

}  // namespace tcu::cuda::rows
