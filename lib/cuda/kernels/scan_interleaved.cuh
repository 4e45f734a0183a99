// scan.interleaved: a few lines whose elements alternate ('K S', 'K S K'), for whose sums a thread has room. Groups of such lines that a tile has
// room for, one after another, are scanned by scan_tiles, others, cut into tiles, by scan_lookback, with a state of all of a group's lines
// (device/interleaved.cuh).
// In place: a tile is read before it is written.
#pragma once
#include "kernels/scan_tiles.cuh"

#if !defined(__CUDACC__)
namespace tcu::cuda::rows {

struct ScanInterleaved {
  static constexpr int kMost = 8, kMostBytes = 32;  // lines; bytes of a state of all of them
  // How many; 0: it is another problem.
  static int lines(const Problem &p) {
    const Mode &k = p.modes[0], &s = *fastest(p, Role::S);
    const int n = k.role == Role::K && k.extent <= kMost ? int(k.extent) : 0;
    if (n < 2 || n * scan_state_bytes(p) > kMostBytes) return 0;
    for (int i = 0; i <= p.n_inputs; ++i)
      if (k.stride[i] != 1 || s.stride[i] != n) return 0;
    return n;
  }
  static ScanTiles::Lines groups(const Problem &p, int n) { return {fastest(p, Role::S)->extent * n, p.kept() / n}; }
  // Whether groups lie one after another, and fit.
  static bool by_tiles(const Problem &p, const Device &d, int n) {
    if (p.modes.n_of(Role::K) > 2) return false;
    for (const Mode &m : p.modes)
      for (int i = 0; i <= p.n_inputs; ++i)
        if (m.role == Role::K && &m != p.modes.begin() && m.stride[i] != groups(p, n).length) return false;
    return ScanTiles::fit(p, d, groups(p, n)) && ScanTiles::suit(p, d, groups(p, n));
  }
  // Whether a thread of a tile of a long group begins with the first line.
  static bool in_turn(const Problem &p, int n) {
    return ScanLookback::lines_aligned(p, n) || (vector_of(p, true) % n == 0 && starts_aligned(p, 0, 1, n));
  }
  static bool accepts(const Problem &p, const Device &d) {
    const int n = p.empty() ? 0 : lines(p);
    return n > 0 && (by_tiles(p, d, n) || (!p.reads_out && in_turn(p, n) && ScanLookback::fits(p, d, 16, n)));
  }
  static bool suits(const Problem &p, const Device &d) {
    const int n = lines(p);
    const int64_t steps = fastest(p, Role::S)->extent;
    return by_tiles(p, d, n) ? suits_tiles(p, n, steps) : suits_parts(p, n * scan_state_bytes(p), steps);
  }
  // Not short lines, which scan.staged has, a thread each. Of 142 scans (H100; two to eight lines of 5 to 3001 steps, 2^20 and 2^24 elements,
  // float16, float32, float64, int32, int8) that it is chosen for 134 took 0.37 to 1.02 of the time of the best other row, 0.79 in the mean, and
  // eight up to 1.25.
  static bool suits_tiles(const Problem &p, int lines, int64_t steps) {
    const int out = bytes_of(p.out);
    const bool much = p.bytes() >= 32 << 20;
    if (out == 1) return lines == 2 && steps >= 200;
    if (lines > 6) return much && steps >= 64 && steps <= 1500;  // for whose sums a thread has hardly registers
    return steps >= 48 || (out == 2 && much);
  }
  // Not a few lines that a cluster each has sooner. state: bytes of all sums, which cost registers. Of 152 scans (the same; of up to 2^24
  // steps) that it is chosen for 148 took 0.39 to 1.02 of the time of the best other row, 0.73 in the mean, and four up to 1.04. (Five lines of float32
  // are among these where they are 20 MB; of 4096 steps and 96 MB scan.columns took 0.83 of the time, H200.)
  static bool suits_parts(const Problem &p, int state, int64_t steps) {
    const int out = bytes_of(p.out);
    const int64_t bytes = p.bytes();
    if (p.kept() < 7 && steps < (out == 1 ? 50000 : 24000)) return false;
    if (state <= 16 || out == 1) return true;
    return state <= 24 ? out == 2 || bytes <= 20 << 20 : bytes <= (state <= 28 ? 8 : 4) << 20;
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    const int n = lines(p);
    LaunchConfig c;
    if (by_tiles(p, d, n)) c = ScanTiles::launch(p, d, groups(p, n)), c.variant = 1;
    else c = ScanLookback::launch(p, d, n);
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    const std::string n = std::to_string(lines(p));
    return c.variant ? make_instance(p, "scan_tiles", {n, "false"}) : make_instance(p, "scan_lookback", {n});
  }
};

}  // namespace tcu::cuda::rows
#endif
