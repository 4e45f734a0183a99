#include "cuda/scan_copied.h"

#include <algorithm>

#include "cuda/rows.h"
#include "plan/planner.h"

namespace tcu::cuda::rows {
namespace {

struct Halves {
  std::shared_ptr<const Plan> copy, scan;
};
const Halves &halves(const Plan &plan) { return *static_cast<const Halves *>(plan.prepared.get()); }

bool lies_as_out(const Problem &p, int input) {
  return std::all_of(p.modes.begin(), p.modes.end(), [&](const Mode &m) { return m.stride[1 + input] == m.stride[0]; });
}

const Kernel &row_of(const Problem &p, const Device &d) { return *choose(registry(), p, d); }
std::shared_ptr<const Plan> planned(const Problem &p, Backend &backend) { return plan_on(row_of(p, backend.device()), p, backend); }

}  // namespace

bool ScanCopied::accepts(const Problem &p, const Device &) {
  if (p.empty() || !holds_elements(p)) return false;
  for (int i = 0; i < p.n_inputs; ++i)
    if (!lies_as_out(p, i)) return true;
  return false;
}
// Where there is much, and an input that is contiguous elsewhere leaves a sector of memory or two between neighbours of out. Of 22 random
// permuted scans of 12 MB and more 19 were faster than by any other row, 0.18 to 0.71 of the time, and three slower, up to 1.25; below, 38 of
// 49 were slower (H100).
bool ScanCopied::suits(const Problem &p, const Device &) {
  if (p.bytes() < 12 << 20) return false;
  for (int i = 1; i <= p.n_inputs; ++i) {
    const auto jumps = [&](const Mode &m) { return m.stride[0] == 1 && m.stride[i] * bytes_of(p.in[i - 1]) >= 64; };
    const auto is_contiguous = [&](const Mode &m) { return m.stride[0] != 1 && m.stride[i] == 1; };
    if (std::any_of(p.modes.begin(), p.modes.end(), jumps) && std::any_of(p.modes.begin(), p.modes.end(), is_contiguous)) return true;
  }
  return false;
}
// What the second launch asks for; a map needs no memory.
LaunchConfig ScanCopied::configure(const Problem &p, const Device &d) {
  const Problem scan = as_scan_of_out(p);
  return row_of(scan, d).configure(scan, d);
}
std::shared_ptr<const void> ScanCopied::prepare(const Problem &p, const LaunchConfig &, Backend &backend) {
  return std::make_shared<const Halves>(Halves{planned(as_map_to_out(p), backend), planned(as_scan_of_out(p), backend)});
}
void ScanCopied::launch(const Plan &plan, const Execution &e, Backend &backend) {
  const auto &[copy, scan] = halves(plan);
  Execution first = e, second = e;
  first.alpha = first.beta = make_scalar(copy->post, 1);
  second.at.in[0] = e.at.out;
  copy->kernel->launch(*copy, first, backend);
  scan->kernel->launch(*scan, second, backend);
}
bool ScanCopied::compiled(const Plan &plan) {
  const auto &[copy, scan] = halves(plan);
  return copy->kernel->compiled(*copy) || scan->kernel->compiled(*scan);
}

}  // namespace tcu::cuda::rows
