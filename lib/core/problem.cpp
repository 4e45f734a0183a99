#include "core/problem.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/hash.h"
#include "core/rewrites.h"

namespace tcu {

const char *name_of(Family f) {
  constexpr const char *names[] = {"broadcast", "reduce", "scan", "segmented"};
  return names[int(f)];
}

const char *more_name(int i) {
  constexpr const char *names[] = {"options.second", "options.second[1]", "options.second[2]"};
  static_assert(std::size(names) == kMaxResults - 1);
  return names[i];
}

bool Problem::empty() const {
  for (const Mode &m : modes)
    if (m.extent == 0 && m.role != Role::R) return true;
  return false;
}

int64_t Problem::bytes() const {
  // A window view (strides 1, 1) has more elements than bytes, so a product may pass what an int64 holds.
  __int128 total = 0;
  for (int k = 0; k <= n_inputs; ++k) {
    __int128 n = bytes_of(dtype(k));
    for (const Mode &m : modes)
      if (m.stride[k] != 0 && !(k == 0 && m.role == Role::R)) n *= m.extent;
    total += k == 0 && reads_out ? 2 * n : n;
    for (int i = 0; k == 0 && i < n_more; ++i) total += n / bytes_of(out) * bytes_of(more[i]);
  }
  if (family == Family::segmented) {
    int64_t segments = 1;
    for (const Mode &m : modes)
      if (m.stride[offsets_operand()] != 0) segments *= m.extent;
    total += (segments + 1) * bytes_of(offsets);
  }
  return int64_t(std::min<__int128>(total, INT64_MAX));
}

std::string Problem::pattern() const {
  std::string s;
  for (const Mode &m : modes) s += (s.empty() ? "" : " ") + std::string(1, "KRS"[int(m.role)]) + ":" + std::to_string(m.extent);
  return s;
}

uint64_t Problem::hash() const {
  QuickHash h;
  h.add(uint64_t(family) | uint64_t(op) << 8 | uint64_t(scan.exclusive) << 16 | uint64_t(scan.reverse) << 17 |
        uint64_t(scan.segmented) << 18 | uint64_t(determinism) << 19 | uint64_t(reads_out) << 20 | uint64_t(in_place) << 21 |
        uint64_t(index_bits) << 24 | uint64_t(n_inputs) << 32 | uint64_t(out) << 40 | uint64_t(acc) << 48 | uint64_t(more[0]) << 56);
  if (n_more > 1) h.add(uint64_t(more[1]) | uint64_t(more[2]) << 8);
  for (int k = 0; k <= n_inputs; ++k) h.add(uint64_t(dtype(k)) << 8 | alignment[k]);
  if (family == Family::segmented) h.add(uint64_t(offsets));
  h.add(expr->hash());
  const int operands = n_operands();
  for (const Mode &m : modes) {
    h.add(uint64_t(m.extent) * 4 + uint64_t(m.role));
    for (int k = 0; k < operands; ++k) h.add(uint64_t(m.stride[k]));
  }
  return h.value();
}

bool Problem::operator==(const Problem &o) const {
  if (family != o.family || op != o.op || scan != o.scan || determinism != o.determinism || reads_out != o.reads_out ||
      in_place != o.in_place || index_bits != o.index_bits || n_inputs != o.n_inputs || out != o.out || acc != o.acc ||
      offsets != o.offsets || n_more != o.n_more || !std::equal(more, more + n_more, o.more) ||
      modes.size() != o.modes.size() || !(*expr == *o.expr))
    return false;
  if (std::memcmp(in, o.in, sizeof(DType) * n_inputs) || std::memcmp(alignment, o.alignment, 1 + n_inputs)) return false;
  for (int i = 0; i < modes.size(); ++i) {
    const Mode &a = modes[i], &b = o.modes[i];
    if (a.extent != b.extent || a.role != b.role || std::memcmp(a.stride, b.stride, sizeof(int64_t) * n_operands()))
      return false;
  }
  return true;
}

namespace {

const char *input_name(int i) {
  constexpr const char *names[] = {"input 0", "input 1", "input 2",  "input 3",  "input 4",  "input 5",  "input 6",  "input 7",
                                   "input 8", "input 9", "input 10", "input 11", "input 12", "input 13", "input 14", "input 15"};
  return names[i];
}

// At least the element's own, which check_tensor and check_pointers hold every pointer to.
uint8_t alignment_class(const void *data, int stated, DType d) {
  const uintptr_t bits = stated > 0 ? uintptr_t(stated) : reinterpret_cast<uintptr_t>(data);
  return uint8_t(std::max(__builtin_ctzll(bits | 16), __builtin_ctz(unsigned(bytes_of(real_part_of(d))))));
}

// The checks and fields that all families share. Layouts stay on the caller's stack.
struct Checked {
  Layout out, more[kMaxResults - 1];
  Layout in[kMaxInputs];
  int rank = 0;                 // of the joint space
  int64_t space[kMaxRank];      // the inputs' joint extents
};

void check(const Request &r, Checked &c, Problem &p) {
  if (r.n_inputs < 0 || r.n_inputs > kMaxInputs)
    fail(Code::expr, "%d inputs; a call takes 0 to %d", r.n_inputs, kMaxInputs);
  if (r.n_inputs > 0 && !r.inputs) fail(Code::null, "inputs is null and n_inputs is %d", r.n_inputs);
  if (r.alignment < 0 || (r.alignment & (r.alignment - 1)))
    fail(Code::option, "options.alignment is %d and must be a power of two", r.alignment);
  const int stated = r.need_data ? 0 : r.alignment;  // it promises what a plan's pointers will be; a call has its pointers
  c.out = check_tensor(r.out, "out", r.need_data);
  check_no_self_overlap(c.out, "out");
  p.expr = r.expr ? r.expr : Expr::inputs(p.n_values());
  p.n_inputs = r.n_inputs;
  p.out = r.out.dtype;
  p.determinism = r.determinism;
  p.reads_out = r.reads_out;
  p.alignment[0] = alignment_class(r.out.data, stated, r.out.dtype);
  for (int i = 0; i < r.n_inputs; ++i) {
    c.in[i] = check_tensor(r.inputs[i], input_name(i), r.need_data);
    p.in[i] = r.inputs[i].dtype;
    p.alignment[1 + i] = alignment_class(r.inputs[i].data, stated, r.inputs[i].dtype);
    const Layout &l = c.in[i];
    for (int m = c.rank; m < l.rank; ++m) c.space[m] = 1;
    c.rank = std::max(c.rank, l.rank);
    for (int m = 0; m < l.rank; ++m) {
      if (l.extents[m] == 1) continue;
      if (c.space[m] != 1 && c.space[m] != l.extents[m])
        fail(Code::shape, "input %d has extent %lld in mode %d, where another input has %lld; make them equal, or one of them 1",
             i, (long long)l.extents[m], m, (long long)c.space[m]);
      c.space[m] = l.extents[m];
    }
  }
  const ResultTypes types = infer_results(*p.expr, p.in, p.n_inputs);
  if (const int left = p.expr->n_results(); left != p.n_values())
    fail(Code::expr, "expr leaves %d value%s and must leave %d%s", left, left == 1 ? "" : "s", p.n_values(),
         p.gated() ? ", the factor or flag and the element" : p.n_values() > 1 ? ", out's and those of options.second" : "");
  if (p.op == ReduceOp::recurrence) p.element = promote(types.results[0], types.results[1]);  // one is multiplied with the other
  else p.element = types.results[p.gated()];
}

// An output may be exactly an input (each element is read before it is written) where `in_place_ok`; else they must
// not share a byte.
void check_overlap(const Request &r, const Checked &c, bool in_place_ok, Problem &p) {
  for (int i = 0; i < r.n_inputs; ++i) {
    const Layout &a = c.out, &b = c.in[i];
    if (!r.out.data || !r.inputs[i].data) continue;
    if (in_place_ok && r.out.data == r.inputs[i].data && bytes_of(a.dtype) == bytes_of(b.dtype)) {
      bool same = true;
      for (int m = 0; m < std::max(a.rank, b.rank); ++m)
        same &= a.extent(m) == b.extent(m) && (a.extent(m) <= 1 || a.stride(m) == b.stride(m));
      if (same) {
        p.in_place = true;
        continue;
      }
    }
    if (may_overlap(r.out.data, a, r.inputs[i].data, b))
      fail(Code::overlap, "out overlaps input %d with another layout; write to a copy", i);
  }
}

// Distinct elements of an operand; those of a window view (strides 1, 1) may be more than an int64 holds.
double elements_of(const Problem &p, int operand) {
  double n = 1;
  for (const Mode &m : p.modes)
    if (m.stride[operand]) n *= double(m.extent);
  return n;
}

// Whether a scan's lines are contiguous in every operand.
bool scans_runs(const Problem &p) {
  const auto is_run = [&](const Mode &m) { return std::all_of(m.stride, m.stride + 1 + p.n_inputs, [](int64_t s) { return s == 1; }); };
  return p.family == Family::scan && std::all_of(p.modes.begin(), p.modes.end(), [&](const Mode &m) { return m.role != Role::S || is_run(m); });
}

}  // namespace

// The order that counts: a broadcast's by its output, and that of a scan's lines where these are runs; a fold's by its inputs, the one with the most
// elements first.
void order_modes(Problem &p) {
  int lead[kMaxOperands], n = 0;
  const bool by_out = p.family == Family::broadcast || scans_runs(p);
  if (by_out) lead[n++] = 0;
  const int first = n;
  double sizes[kMaxOperands];
  for (int k = 1; k <= p.n_inputs; ++k) {
    const double size = elements_of(p, k);
    int at = n++;
    for (; at > first && sizes[lead[at - 1]] < size; --at) lead[at] = lead[at - 1];
    lead[at] = k, sizes[k] = size;
  }
  if (!by_out) lead[n++] = 0;
  canonicalize(p.modes, p.n_operands(), lead, n);
}

namespace {

// Fills p.modes with extents and strides over the space and canonicalizes. `roles` may be null: all K. segments: one mode more,
// or null.
void build_modes(const Checked &c, int rank, const int64_t *extents, const Role *roles, Problem &p, const Mode *segments = nullptr) {
  const int n_operands = p.n_operands();
  int64_t weight = 1;
  for (int m = 0; m < rank; ++m) {
    Mode mode;
    mode.extent = extents[m];
    mode.role = roles ? roles[m] : Role::K;
    mode.stride[0] = c.out.extent(m) == 1 ? 0 : c.out.stride(m);
    for (int i = 0; i < p.n_inputs; ++i) mode.stride[1 + i] = c.in[i].extent(m) == 1 ? 0 : c.in[i].stride(m);
    if (n_operands > 1 + p.n_inputs) {
      mode.stride[1 + p.n_inputs] = mode.role == Role::R && !segments ? weight : 0;
      if (mode.role == Role::R) weight *= mode.extent;
    }
    p.modes.push(mode);
  }
  if (segments) p.modes.push(*segments);
  order_modes(p);

  bool narrow = true;
  for (int k = 0; k < n_operands; ++k) {
    __int128 reach = 0;
    for (const Mode &m : p.modes) reach += __int128(m.extent) * std::llabs(m.stride[k]);
    narrow &= reach <= INT32_MAX;
  }
  // Elements are in one segment each: segments and elements are no two modes of one space.
  __int128 count = 1, elements = 1;
  for (const Mode &m : p.modes) {
    __int128 &n = segments && m.role == Role::R ? elements : count;
    n = std::min<__int128>(n * std::max<int64_t>(m.extent, 1), __int128(1) << 62);
  }
  count = std::max(count, elements);
  // 2^30 and not 2^31: kernels may step past the end by a grid's width before they compare
  p.index_bits = narrow && count <= (1 << 30) ? 32 : 64;
}

// The results beside out: of its layout, apart from it, from each other and from what is read.
void check_more(const Request &r, Checked &c) {
  for (int k = 0; k < r.n_more; ++k) {
    const TensorView &t = r.more[k];
    const Layout l = c.more[k] = check_tensor(t, more_name(k), r.need_data);
    for (int m = 0; m < std::max(c.out.rank, l.rank); ++m)
      if (l.extent(m) != c.out.extent(m) || (c.out.extent(m) > 1 && l.stride(m) != c.out.stride(m)))
        fail(Code::shape, "%s must have out's extents and strides, and has not in mode %d", more_name(k), m);
    if (!t.data) continue;
    if (r.out.data && may_overlap(r.out.data, c.out, t.data, l)) fail(Code::overlap, "%s overlaps out", more_name(k));
    for (int i = 0; i < k; ++i)
      if (r.more[i].data && may_overlap(r.more[i].data, c.more[i], t.data, l))
        fail(Code::overlap, "%s overlaps %s", more_name(k), more_name(i));
    for (int i = 0; i < r.n_inputs; ++i)
      if (r.inputs[i].data && may_overlap(t.data, l, r.inputs[i].data, c.in[i]))
        fail(Code::overlap, "%s overlaps input %d; write to a copy", more_name(k), i);
  }
}
// Before check(), which asks how many values there are to be.
void take_more(const Request &r, Problem &p) {
  p.n_more = r.n_more;
  for (int k = 0; k < r.n_more; ++k) p.more[k] = r.more[k].dtype;
}

// Of a fold.
void check_results(const Request &r, Checked &c, Problem &p) {
  check_overlap(r, c, false, p);
  const DType post = is_arg(p.op) ? DType::i64 : p.acc;
  if (is_arg(p.op) && kind_of(p.out) != Kind::Int && kind_of(p.out) != Kind::UInt)
    fail(Code::dtype, "%s gives positions and out is %s; make it an integer", info(p.op).name, info(p.out).name);
  if (r.reads_out && (post == DType::bool_ || is_arg(p.op))) fail(Code::option, "beta makes no sense for %s", info(p.op).name);
  if (r.n_more == 0) {
    if (info(p.op).second == Second::Needed) fail(Code::null, "options.second is null, where %s puts its second result", info(p.op).name);
    return;
  }
  if (info(p.op).second == Second::None) fail(Code::option, "options.second is given and %s has no second result", info(p.op).name);
  if (r.n_more > 1) fail(Code::option, "options.n_second is %d and %s has one second result", r.n_more, info(p.op).name);
  take_more(r, p);
  check_more(r, c);
}

void refuse_scan_only(ReduceOp op) {
  if (info(op).scans == Scans::Only) fail(Code::op, "%s is a scan and no reduction; call tcu_scan", info(op).name);
}

void check_space(const Checked &c) {
  int64_t n = 1;
  for (int m = 0; m < c.rank; ++m)
    if (__builtin_mul_overflow(n, std::max<int64_t>(c.space[m], 1), &n) || n > kMostCounted)
      fail(Code::overflow, "the inputs' joint space has more elements than can be counted");
}

void set_accumulator(const Request &r, Problem &p, DType standard) {
  p.acc = standard;
  if (r.accumulator == DType::none) return;
  if (!is_dtype(int32_t(r.accumulator)))
    fail(Code::dtype, "options.accumulator is unknown dtype %d", int(r.accumulator));
  if (r.accumulator != compute_dtype(r.accumulator))
    fail(Code::dtype, "options.accumulator %s is too narrow to accumulate in; use float32", info(r.accumulator).name);
  const Accumulate rule = p.op == ReduceOp::none ? Accumulate::Same : info(p.op).accumulate;
  if (p.op != ReduceOp::none && r.accumulator != standard && !takes_accumulator(p.op, r.accumulator))
    fail(Code::dtype, "%s accumulates in %s, and not in %s; leave options.accumulator at 0", info(p.op).name, info(standard).name,
         info(r.accumulator).name);
  if (rule == Accumulate::Same && kind_of(r.accumulator) == Kind::Complex && p.op != ReduceOp::none)
    fail(Code::dtype, "%s needs an order, and %s has none", info(p.op).name, info(r.accumulator).name);
  p.acc = r.accumulator;
}

}  // namespace

Problem make_broadcast(const Request &r) {
  Problem p;
  Checked c;
  take_more(r, p);
  if (p.n_more > 1 && r.n_inputs > kMaxInputs + 1 - p.n_more)  // a kernel has one list of pointers for both
    fail(Code::expr, "%d inputs; a map of %d results takes 0 to %d", r.n_inputs, 1 + p.n_more, kMaxInputs + 1 - p.n_more);
  check(r, c, p);
  for (int m = 0; m < std::max(c.rank, c.out.rank); ++m) {
    const int64_t joint = m < c.rank ? c.space[m] : 1;
    if (joint != 1 && joint != c.out.extent(m))
      fail(Code::shape, "out has extent %lld in mode %d, where the inputs have %lld", (long long)c.out.extent(m), m,
           (long long)joint);
  }
  check_overlap(r, c, true, p);
  check_more(r, c);
  set_accumulator(r, p, compute_dtype(p.element));
  if (r.reads_out && p.acc == DType::bool_) fail(Code::option, "beta makes no sense for a Bool result");
  build_modes(c, c.out.rank, c.out.extents, nullptr, p);
  return p;
}

Problem make_reduce(const Request &r, ReduceOp op, int n_dims, const int32_t *dims) {
  Problem p;
  Checked c;
  p.family = Family::reduce, p.op = op;
  refuse_scan_only(op);
  check(r, c, p);
  check_space(c);
  const int rank = std::max(c.rank, c.out.rank);
  for (int m = c.rank; m < rank; ++m) c.space[m] = 1;
  Role roles[kMaxRank] = {};
  if (n_dims < 0 || n_dims > kMaxRank) fail(Code::dim, "%d dims; a reduction takes 0 to %d", n_dims, kMaxRank);
  if (n_dims > 0 && !dims) fail(Code::null, "dims is null and n_dims is %d", n_dims);
  for (int i = 0; i < n_dims; ++i) {
    if (dims[i] < 0 || dims[i] >= kMaxRank) fail(Code::dim, "dims[%d] is %d; modes are numbered 0..%d", i, dims[i], kMaxRank - 1);
    if (roles[dims[i]] == Role::R) fail(Code::dim, "dims names mode %d twice", dims[i]);
    roles[dims[i]] = Role::R;
  }
  for (int m = 0; m < rank; ++m) {
    const int64_t n = c.out.extent(m);
    if (roles[m] == Role::R && n != 1)
      fail(Code::reduced_mode, "mode %d is reduced and out has extent %lld there; it must be 1", m, (long long)n);
    if (roles[m] == Role::K && n != c.space[m])
      fail(Code::shape, "out has extent %lld in kept mode %d, where the inputs have %lld", (long long)n, m, (long long)c.space[m]);
  }
  set_accumulator(r, p, accumulator_of(op, p.element));
  check_results(r, c, p);
  build_modes(c, rank, c.space, roles, p);
  if (is_empty_reduction(p) && (info(op).empty == Empty::Error || r.n_more > 0))
    fail(Code::empty, "%s over no elements has no %s", info(op).name, r.n_more > 0 ? "second result" : "value");
  return p;
}

Problem make_scan(const Request &r, ReduceOp op, int dim, ScanFlags flags) {
  Problem p;
  Checked c;
  p.family = Family::scan, p.op = op, p.scan = flags;
  if (info(op).scans == Scans::No)
    fail(Code::op, "%s cannot be scanned; sum, prod, max, min, any, all, count and recurrence can", info(op).name);
  if (flags.segmented && op == ReduceOp::recurrence)
    fail(Code::option, "a recurrence takes no TCU_SCAN_SEGMENTED; make its factor 0 where a segment begins");
  if (r.n_more > 0) fail(Code::option, "options.second is given and a scan has no second result");
  check(r, c, p);
  check_space(c);
  if (dim < 0 || dim >= kMaxRank) fail(Code::dim, "dim is %d; modes are numbered 0..%d", dim, kMaxRank - 1);
  for (int m = 0; m < std::max(c.rank, c.out.rank); ++m) {
    const int64_t joint = m < c.rank ? c.space[m] : 1;
    if (joint != c.out.extent(m) && joint != 1)
      fail(Code::shape, "out has extent %lld in mode %d, where the inputs have %lld", (long long)c.out.extent(m), m,
           (long long)joint);
  }
  check_overlap(r, c, true, p);
  set_accumulator(r, p, accumulator_of(op, p.element));
  if (r.reads_out && p.acc == DType::bool_) fail(Code::option, "beta makes no sense for a Bool result");
  Role roles[kMaxRank] = {};
  roles[dim] = Role::S;
  int rank = std::max(c.rank, c.out.rank);
  int64_t extents[kMaxRank];
  for (int m = 0; m < std::max(rank, dim + 1); ++m) extents[m] = c.out.extent(m);
  build_modes(c, std::max(rank, dim + 1), extents, roles, p);
  return p;
}

Layout check_offsets(const TensorView &offsets, bool need_data) {
  const Layout at = check_tensor(offsets, "offsets", need_data);
  if (offsets.dtype != DType::i32 && offsets.dtype != DType::i64)
    fail(Code::dtype, "offsets are %s; make them int32 or int64", info(offsets.dtype).name);
  if (at.rank != 1 || at.extents[0] < 1 || (at.extents[0] > 1 && at.strides[0] != 1))
    fail(Code::shape, "offsets must be a dense vector of one number more than there are segments");
  return at;
}

Problem make_segmented(const Request &r, ReduceOp op, int dim, const TensorView &offsets) {
  Problem p;
  Checked c;
  p.family = Family::segmented, p.op = op, p.offsets = offsets.dtype;
  refuse_scan_only(op);
  check(r, c, p);
  check_space(c);
  if (r.n_inputs < 1 || r.n_inputs >= kMaxInputs)
    fail(Code::expr, "%d inputs; segments take 1 to %d", r.n_inputs, kMaxInputs - 1);
  if (dim < 0 || dim >= kMaxRank - 1) fail(Code::dim, "dim is %d; modes are numbered 0..%d", dim, kMaxRank - 2);
  const Layout at = check_offsets(offsets, r.need_data);
  const int rank = std::max({c.rank, c.out.rank, dim + 1});
  if (rank >= kMaxRank) fail(Code::rank, "segments of a tensor of %d modes; there may be %d", rank, kMaxRank - 1);
  for (int m = c.rank; m < rank; ++m) c.space[m] = 1;
  Role roles[kMaxRank] = {};
  roles[dim] = Role::R;
  for (int m = 0; m < rank; ++m) {
    const int64_t n = c.out.extent(m), wanted = m == dim ? at.extents[0] - 1 : c.space[m];
    if (n != wanted)
      fail(Code::shape, "out has extent %lld in mode %d, where %s %lld", (long long)n, m, m == dim ? "the segments are" : "the inputs have",
           (long long)wanted);
  }
  set_accumulator(r, p, accumulator_of(op, p.element));
  check_results(r, c, p);
  if (r.out.data && offsets.data && may_overlap(r.out.data, c.out, offsets.data, at))
    fail(Code::overlap, "out overlaps the offsets; write to a copy");
  for (int k = 0; k < r.n_more; ++k)
    if (r.more[k].data && offsets.data && may_overlap(r.more[k].data, c.more[k], offsets.data, at))
      fail(Code::overlap, "%s overlaps the offsets; write to a copy", more_name(k));
  Mode segments{};
  segments.extent = at.extents[0] - 1, segments.role = Role::K;
  segments.stride[0] = c.out.extent(dim) == 1 ? 0 : c.out.stride(dim);
  segments.stride[p.offsets_operand()] = 1;
  c.out.extents[dim] = 1;  // the mode of the elements is not out's
  build_modes(c, rank, c.space, roles, p, &segments);
  return p;
}

namespace {

// The layout of one operand, rebuilt from canonical modes. Of an empty mode an input has no element, and out all the same: what is
// reduced there is nothing.
Layout layout_of(const Problem &p, int operand) {
  Layout l;
  l.dtype = p.dtype(operand);
  for (const Mode &m : p.modes)
    if (m.stride[operand] != 0 || (operand > 0 && m.extent == 0)) l.extents[l.rank] = m.extent, l.strides[l.rank++] = m.stride[operand];
  return l;
}

}  // namespace

int leading_input(const Problem &p) {
  int lead = 1;
  for (int k = 2; k <= p.n_inputs; ++k)
    if (elements_of(p, k) > elements_of(p, lead)) lead = k;
  return lead;
}
bool lies_as(const Problem &p, int a, int b) {
  return std::all_of(p.modes.begin(), p.modes.end(), [=](const Mode &m) { return m.stride[a] == m.stride[b]; });
}

void check_pointers(const Problem &p, const Pointers &at) {
  if (p.empty()) return;
  if (p.family == Family::segmented) {
    if (!at.offsets) fail(Code::null, "offsets is null");
    if (reinterpret_cast<uintptr_t>(at.offsets) % bytes_of(p.offsets)) fail(Code::alignment, "offsets are not aligned to their numbers");
  }
  const Layout out = layout_of(p, 0);
  Layout offsets;  // of segments
  if (p.family == Family::segmented) {
    offsets.dtype = p.offsets, offsets.rank = 1, offsets.strides[0] = 1, offsets.extents[0] = 2;
    for (const Mode &m : p.modes)
      if (m.stride[p.offsets_operand()] != 0) offsets.extents[0] = m.extent + 1;
    if (may_overlap(at.out, out, at.offsets, offsets)) fail(Code::overlap, "out overlaps the offsets; write to a copy");
  }
  Layout more[kMaxResults - 1];
  for (int k = 0; k < p.n_more; ++k) {
    more[k] = out, more[k].dtype = p.more[k];
    if (!at.more[k]) fail(Code::null, "%s is null, and the plan has a result there", more_name(k));
    if (reinterpret_cast<uintptr_t>(at.more[k]) % bytes_of(real_part_of(p.more[k])))
      fail(Code::alignment, "%s is not aligned to its elements", more_name(k));
    if (may_overlap(at.out, out, at.more[k], more[k])) fail(Code::overlap, "%s overlaps out", more_name(k));
    if (at.offsets && may_overlap(at.more[k], more[k], at.offsets, offsets)) fail(Code::overlap, "%s overlaps the offsets", more_name(k));
    for (int i = 0; i < k; ++i)
      if (may_overlap(at.more[i], more[i], at.more[k], more[k])) fail(Code::overlap, "%s overlaps %s", more_name(k), more_name(i));
  }
  for (int k = 0; k <= p.n_inputs; ++k) {
    const void *data = k == 0 ? at.out : at.in[k - 1];
    const char *name = k == 0 ? "out" : input_name(k - 1);
    if (!data && layout_of(p, k).empty()) continue;
    if (!data) fail(Code::null, "%s is null", name);
    if (reinterpret_cast<uintptr_t>(data) & ((uintptr_t(1) << p.alignment[k]) - 1))
      fail(Code::alignment, "%s is not a multiple of the %d bytes that the plan was made for; see options.alignment", name,
           1 << p.alignment[k]);
    if (k == 0) continue;
    for (int i = 0; i < p.n_more; ++i)
      if (may_overlap(at.more[i], more[i], data, layout_of(p, k)))
        fail(Code::overlap, "%s overlaps input %d; write to a copy", more_name(i), k - 1);
    if (p.in_place && data == at.out && bytes_of(p.out) == bytes_of(p.dtype(k)) && lies_as(p, k, 0)) continue;
    if (may_overlap(at.out, out, data, layout_of(p, k)))
      fail(Code::overlap, "out overlaps input %d%s", k - 1,
           data == at.out ? "; make the plan with out and that input at one address to run it in place" : "; write to a copy");
  }
}

}  // namespace tcu
