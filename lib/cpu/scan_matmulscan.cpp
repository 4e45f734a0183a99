// scan.matmulscan: a sum of float32 or float64 along any mode as MatMulScan does it (cpu/matmul_scan.h), each line whole in a thread's
// scratch. For pins: the reference of the tensor cores' row. The matrices are s x s, s by the tuning table.
#include <cstring>
#include <utility>

#include "cpu/matmul_scan.h"
#include "cpu/rows.h"
#include "cpu/scan.h"
#include "plan/tuning.h"

namespace tcu::cpu {
namespace {

constexpr int kLeast = 2, kMost = 32;  // of s

// Folds::scan of one line. What comes before it is added to its first element.
template <class T, int s>
void scan_line(void *out, const void *src, int64_t, int64_t n, void *carry, void *, bool exclusive) {
  T *const x = static_cast<T *>(out), before = *static_cast<T *>(carry);
  if (out != src) std::memcpy(out, src, size_t(n) * sizeof(T));
  x[0] = before + x[0];
  MatmulScan<T>(s).scan(x, n);
  *static_cast<T *>(carry) = x[n - 1];
  if (!exclusive) return;
  std::memmove(x + 1, x, size_t(n - 1) * sizeof(T));
  x[0] = before;
}
template <class T, int... i>
auto scan_line_of(int s, std::integer_sequence<int, i...>) {
  constexpr decltype(Folds::scan) each[] = {scan_line<T, kLeast + i>...};
  return each[s - kLeast];
}

bool accepts(const Problem &p, const Device &) {
  return p.modes.size() > 0 && p.op == ReduceOp::sum && !p.gated() && (p.acc == DType::f32 || p.acc == DType::f64);
}
void cut(Grid &g, int s, int64_t) {
  if (g.n) g.set_step(s, g.axis[s].extent);
}
LaunchConfig configure(const Problem &p, const Device &d) {
  LaunchConfig c = configure_scan(p, cut);
  c.detail = std::clamp(tuning("scan.matmulscan", d, bytes_of(p.acc)).factor, kLeast, kMost);
  return c;
}
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &config, Backend &) {
  auto r = std::make_shared<ScanPlan>(*static_cast<const ScanPlan *>(prepare_scan(p, cut).get()));
  constexpr std::make_integer_sequence<int, kMost - kLeast + 1> sizes;
  r->runs = false;
  r->folds.scan = p.acc == DType::f32 ? scan_line_of<float>(config.detail, sizes) : scan_line_of<double>(config.detail, sizes);
  return r;
}

}  // namespace

Kernel scan_matmulscan() { return {"scan.matmulscan", Family::scan, accepts, configure, prepare, launch_scan}; }

}  // namespace tcu::cpu
