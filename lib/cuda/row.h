// What the launchers beside the kernels (kernels/*.cuh) are written with. A row of the registry is a struct with
//   accepts(Problem, Device), configure(Problem, Device), instance(Problem, LaunchConfig) and, if a row further down is the better one for
//   some of what it accepts, suits(Problem, Device); and, if an execution is several launches of the one function,
//   each_launch(Plan, f), which calls f(LaunchConfig) for each,
// and rows.cpp turns it into a Kernel. One of several functions has prepare, launch and compiled in place of instance.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "cuda/function.h"
#include "device/params.cuh"
#include "plan/tuning.h"

namespace tcu::cuda {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Of a table of kinds of problems the first that a problem is of, which `is` says; it is of the last.
template <class Kind, size_t N>
const Kind &first_kind(const Kind (&kinds)[N]) {
  return *std::find_if(std::begin(kinds), std::end(kinds), [](const Kind &k) { return k.is; });
}

// What `find`, a lambda, says of the problem that this thread asked it about last: rows ask each other while one is chosen, and once more to be configured.
template <class Find>
auto remembered(const Problem &p, Find find) {
  static thread_local std::optional<std::pair<Problem, decltype(find(p))>> last;
  if (!last || !(last->first == p)) last.emplace(p, find(p));
  return last->second;
}

// C++ text of a dtype: what it is computed in, and what is stored.
inline const char *type_text(DType d) { return info(d).compute; }
inline const char *storage_text(DType d) { return info(d).storage; }
inline const char *index_text(const Problem &p) { return p.index_bits == 32 ? "int32_t" : "int64_t"; }
inline std::string bits_text(unsigned bits) { return std::to_string(bits) + "u"; }
// Bytes of a fold's State, at most.
inline int state_bytes(const Problem &p) {
  if (is_arg(p.op)) return p.index_bits == 32 && bytes_of(p.acc) <= 4 ? 8 : 16;
  return info(p.op).numbers == 1 ? std::max(bytes_of(p.acc), 4) : info(p.op).numbers * bytes_of(p.acc);  // held_t
}
// Of a scan's (device/scan.cuh), at most.
inline int scan_state_bytes(const Problem &p) { return p.gated() ? std::max(2 * bytes_of(p.acc), 8) : bytes_of(p.acc); }

// kAppends of the fold.
inline bool appends(const Problem &p) { return !is_arg(p.op) && info(p.op).numbers > 1; }

// resident_blocks of a reduction whose threads hold so many states.
inline int resident_blocks(const Problem &p, int most, int states) {
  return resident_blocks(most, appends(p), states, state_bytes(p), bytes_of(p.acc));
}

// Bytes that an element takes in shared memory, where its output takes the place of an input as wide.
inline int tile_bytes(const Problem &p) {
  int bytes = 0;
  for (int i = 0; i < p.n_inputs; ++i) bytes += bytes_of(p.in[i]);
  return bytes + (std::any_of(p.in, p.in + p.n_inputs, [&](DType d) { return bytes_of(d) == bytes_of(p.out); }) ? 0 : bytes_of(p.out));
}

// Elements of one step: kVector of device/map.cuh.
int vector_of(const Problem &p, bool with_out);
// The fastest mode of a role, or null.
const Mode *fastest(const Problem &p, Role role);
// Whether every row of mode `mode` starts at a multiple of the size of `vector` elements in the operand, or every run along several modes, a bit
// each; and every run of so many elements in the row does.
bool starts_aligned(const Problem &p, int mode, int operand, int vector);
bool runs_aligned(const Problem &p, unsigned modes, int operand, int vector);
bool rows_aligned(const Problem &p, int mode, int operand, int vector);
// Whether an input is contiguous along a mode; and whether one is neither that nor the same element all along.
bool reads_along(const Problem &p, const Mode &mode);
bool jumps_along(const Problem &p, const Mode &mode);
// Whether an operand's elements lie one after another as out's are numbered, and whether it has one for each place.
bool is_dense(const Problem &p, int operand);
bool has_every_mode(const Problem &p, int operand);
// kOnce (device/map.cuh), where vectors along a mode have so many elements.
unsigned once_along(const Problem &p, const Mode &mode, int vector);
// Steps of a thread: `most` where the device is full all the same, else one; blocks: there would be with one.
inline int steps_of(int64_t blocks, int most, const Device &d) {
  return blocks <= int64_t(d.processors) * (d.threads_per_processor / kThreads) ? 1 : most;
}
// Tells blocks that begin together to do so one after another, half as fast again as the memory fills c.shared_bytes of each, for some of it
// may be in the cache. Few of them need not.
inline void begin_apart(LaunchConfig &c, const Device &d) {
  if (c.grid <= 2 * d.processors || d.bytes_a_cycle <= 0) return;
  const int64_t abreast = std::min<int64_t>((d.shared_bytes + 1024) / (c.shared_bytes + 1280), d.threads_per_processor / c.block);
  c.wave = int(std::min(c.grid, abreast * d.processors)), c.apart = int(c.shared_bytes / (1.5 * d.bytes_a_cycle));
}
// Gives each block so much shared memory that no more than `blocks` find room on a multiprocessor: where work is cut for so many, one more here is
// one less elsewhere. Of kernels that read by way of shared memory: loads to registers wait in what it leaves of the first level cache.
inline void limit_resident(LaunchConfig &c, const Device &d, int64_t blocks) {
  c.shared_bytes = std::max(c.shared_bytes, int((d.shared_bytes + 1024) / (blocks + 1)) - 1024 + 128);
}
// What the tuning table has for a row and the problem's widest element.
Tuning tuning(const char *row, const Problem &p, const Device &d);
// As many blocks as stay resident, by the tuning table, or as many as there is work for; within a grid's limit.
int64_t persistent_grid(const char *row, const Problem &p, const Device &d, int64_t blocks_of_work);

// The counter of a kernel whose blocks claim tiles (device/tile_box.cuh).
inline void claim_tiles(LaunchConfig &c) { c.leaves_zero = true, c.zeroed_bytes = c.workspace_bytes = 16; }

// Of a body whose template takes, after the map, the fold (but of a broadcast), what is computed in and stored, the index, and `more`.
Instance make_instance(const Problem &p, const char *body, std::initializer_list<std::string> more = {}, const char *index = nullptr);

}  // namespace tcu::cuda
