// Random descriptors for test_fuzz.cpp: a case is first made valid, as far as random dtypes and tapes allow, then spoilt.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "capi/api.h"

namespace fuzz {

using support::chance;
using support::one_of;
using support::pick;
using support::Rng;

constexpr int64_t kMostBytes = 1 << 16, kMostElements = 1 << 14;  // what is run and not only planned

constexpr tcu_reduce_op_t kFolds = TCU_REDUCE_SUMEXP;  // their ids are 1 to this

inline bool has_second_result(tcu_reduce_op_t fold) {
  switch (fold) {
    case TCU_REDUCE_ARGMAX: case TCU_REDUCE_ARGMIN: case TCU_REDUCE_VAR: case TCU_REDUCE_STD: case TCU_REDUCE_LOGSUMEXP:
    case TCU_REDUCE_EXTREMA: case TCU_REDUCE_SUMEXP: return true;
    default: return false;
  }
}

constexpr int64_t kHuge[] = {INT64_MAX, INT64_MIN, int64_t(1) << 62, -(int64_t(1) << 62), int64_t(1) << 40,
                             int64_t(1) << 31, -(int64_t(1) << 33), INT64_MAX / 3, 1000003};

struct Descriptor {
  std::vector<int64_t> extents, strides;
  bool has_extents = true, has_strides = true, has_data = true;
  tcu_dtype_t dtype = TCU_FLOAT32;
  int32_t rank = 0;
  std::unique_ptr<unsigned char[]> memory;
  int64_t bytes = 0, base = 0;  // of the allocation; of the element with all indices zero
  tcu_tensor_t tensor{};

  bool readable() const { return rank >= 0 && size_t(rank) <= extents.size() && (has_extents || rank == 0) && tcu_dtype_bytes(dtype) > 0; }
  int64_t stride(int i, __int128 dense) const { return has_strides ? strides[size_t(i)] : int64_t(dense); }

  // First and one past the last byte, and how many elements; false if that is more than is allowed to run.
  bool reach(int64_t &first, int64_t &last, int64_t &elements) const {
    first = last = 0, elements = 1;
    if (!readable()) return elements = 0, true;  // refused before data is looked at
    for (int i = 0; i < rank; ++i)
      if (extents[size_t(i)] <= 0) return elements = 0, true;
    __int128 low = 0, high = 1, dense = 1, count = 1;
    for (int i = 0; i < rank; ++i) {
      const __int128 n = extents[size_t(i)], far = (n - 1) * stride(i, dense);
      (far < 0 ? low : high) += far;
      dense *= n, count *= n;
      if (high - low > kMostBytes || count > kMostElements) return false;
    }
    const int size = tcu_dtype_bytes(dtype);
    first = int64_t(low) * size, last = int64_t(high) * size, elements = int64_t(count);
    return last - first <= kMostBytes;
  }

  // Room for what the descriptor reaches, or a little if that is too much.
  void allocate(Rng &rng) {
    int64_t first, last, n;
    if (!reach(first, last, n)) first = 0, last = 64;
    bytes = last - first, base = -first;
    memory.reset(new unsigned char[size_t(bytes)]);
    // Bools hold 0 or 1 and nothing else; small bytes make small integers, and floats of every kind.
    for (int64_t i = 0; i < bytes; ++i) memory[size_t(i)] = dtype == TCU_BOOL ? rng() & 1 : uint8_t(rng());
  }
  std::string text() const {
    std::string s = std::to_string(dtype) + "/" + std::to_string(rank) + "[";
    for (size_t i = 0; i < extents.size() && i < 8; ++i)
      s += " " + std::to_string(extents[i]) + (has_strides ? ":" + std::to_string(strides[i]) : "");
    return s + "]";
  }
  void describe() {
    tensor = {has_data ? memory.get() + base : nullptr, has_extents ? extents.data() : nullptr,
              has_strides ? strides.data() : nullptr, dtype, rank};
  }
};

// Strides for the extents: dense, permuted, padded, reversed; broadcast where zeros are allowed.
void lay_out(Rng &rng, Descriptor &d, bool zeros) {
  d.rank = int32_t(d.extents.size());
  d.strides.assign(d.extents.size(), 0);
  d.has_strides = chance(rng, 70);
  std::vector<size_t> order(d.extents.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (chance(rng, 40)) std::shuffle(order.begin(), order.end(), rng);
  int64_t step = chance(rng, 10) ? 2 : 1;
  for (size_t m : order) {
    d.strides[m] = zeros && chance(rng, 10) ? 0 : chance(rng, 15) ? -step : step;
    step *= std::max<int64_t>(d.extents[m], 1);
    if (chance(rng, 10)) step += pick(rng, 1, 3);
  }
}

std::vector<tcu_node_t> random_tape(Rng &rng, int n_inputs) {
  static const std::vector<tcu_op_t> ops = [] {
    std::vector<tcu_op_t> all;
    for (tcu_op_t o = 1; o < 1024; ++o)
      if (tcu_op_name(o)) all.push_back(o);
    return all;
  }();
  std::vector<tcu_node_t> tape;
  int depth = 0;
  for (int64_t n = pick(rng, 1, 8); n > 0 || depth > 1; --n) {
    tcu_scalar_t value{};
    value.c[0] = double(pick(rng, -3, 3)), value.c[1] = 1;
    const tcu_dtype_t d = tcu_dtype_t(pick(rng, 1, TCU_FLOAT8_E5M2));
    if (tcu_dtype_bytes(d) && d < TCU_FLOAT16) value.i = pick(rng, 0, 3);
    const int64_t kind = depth == 0 ? pick(rng, 0, 2) : n <= 0 ? 4 : pick(rng, 0, 6);
    if (kind == 0 && n_inputs > 0) tape.push_back(api::input(int32_t(pick(rng, 0, n_inputs - 1)))), ++depth;
    else if (kind <= 1) tape.push_back(api::constant(d, value)), ++depth;
    else if (kind == 2) tape.push_back(api::scalar(int32_t(pick(rng, 0, 3)), d)), ++depth;
    else if (kind == 3) tape.push_back(api::cast_to(d));
    else {
      const tcu_op_t o = one_of(rng, ops);
      const int arity = o < 200 ? 1 : o < 400 ? 2 : 3;
      if (arity > depth || (n <= 0 && arity == 1)) continue;
      tape.push_back(api::op(o)), depth -= arity - 1;
    }
  }
  return tape;
}

enum class Family { map, reduce, scan, segmented, matmul };

// One call with everything that it is given.
struct Case {
  Rng rng;
  Family family;
  Descriptor out;
  std::array<Descriptor, TCU_MAX_RESULTS - 1> more;
  Descriptor &second = more[0];
  tcu_tensor_t more_tensors[TCU_MAX_RESULTS - 1];
  std::array<Descriptor, 4> in;
  std::vector<tcu_tensor_t> inputs;
  std::vector<tcu_node_t> tape;
  std::vector<int32_t> dims;
  std::vector<tcu_scalar_t> scalars = std::vector<tcu_scalar_t>(4);
  tcu_scalar_t alpha{}, beta{}, init{};
  double correction = 0;
  tcu_options_t o = TCU_OPTIONS_INIT;
  const tcu_options_t *options = &o;
  std::string pin;
  tcu_context_t context = api::context();
  tcu_reduce_op_t fold = TCU_REDUCE_SUM;
  int32_t n_inputs = 1, n_dims = 0, dim = 0;
  int shared_with = -1;  // the input that lies in out's memory
  bool null_out = false, null_inputs = false, null_dims = false;
  int values = 1;           // that the expression leaves
  bool by_offsets = false;  // a scan of segments
  int n_more = 0;             // results beside out
  int spoilt = -1;            // the one of them that does not lie as out does
  int on_another = -1;        // the one that lies where the one before it does, or out
  int32_t odd_count = 0;      // n_second in place of how many there are

  explicit Case(uint64_t seed) : rng(seed) {}

  tcu_dtype_t random_dtype() { return tcu_dtype_t(pick(rng, 1, TCU_FLOAT8_E5M2)); }

  void make() {
    family = Family(std::min<int64_t>(pick(rng, 0, 12) / 3, 4));
    std::vector<int64_t> space;
    for (int64_t n = chance(rng, 2) ? pick(rng, 10, 64) : pick(rng, 0, 4); n > 0; --n)
      space.push_back(n > 8 || chance(rng, 15) ? 1 : chance(rng, 3) ? 0 : pick(rng, 1, 6));
    if (family == Family::matmul) space = {pick(rng, 0, 4), pick(rng, 0, 4)};
    n_inputs = family == Family::matmul ? 2 : int32_t(pick(rng, 1, 3));
    const tcu_dtype_t common = random_dtype();
    for (int i = 0; i < 4; ++i) {
      in[size_t(i)].extents = space, in[size_t(i)].dtype = chance(rng, 60) ? common : random_dtype();
      for (int64_t &e : in[size_t(i)].extents)
        if (i > 0 && chance(rng, 20)) e = 1;
      if (i > 0 && !space.empty() && chance(rng, 10)) in[size_t(i)].extents.pop_back();
    }
    out.extents = space, out.dtype = chance(rng, 50) ? common : random_dtype();
    fold = tcu_reduce_op_t(pick(rng, 1, family == Family::scan && chance(rng, 90) ? 4 : kFolds));
    if (family == Family::scan) {
      const int64_t kind = pick(rng, 0, 9);
      values = kind < 3 ? 2 : 1, by_offsets = kind == 3;
      if (kind == 0) fold = TCU_REDUCE_RECURRENCE;
      else if (values == 2) o.scan_flags = TCU_SCAN_SEGMENTED;
    }
    if ((fold == TCU_REDUCE_ARGMAX || fold == TCU_REDUCE_ARGMIN) && chance(rng, 80)) out.dtype = TCU_INT64;
    if (family == Family::reduce || family == Family::segmented)
      n_more = chance(rng, fold == TCU_REDUCE_EXTREMA ? 95 : has_second_result(fold) ? 50 : 3);
    if (family == Family::map && chance(rng, 25)) n_more = int(pick(rng, 1, TCU_MAX_RESULTS - 1)), values = 1 + n_more;
    for (Descriptor &d : more) d.dtype = chance(rng, 50) ? common : random_dtype();
    if (values > 1) n_inputs = values;  // of no expression, the values
    for (size_t m = 0; m < space.size() && family == Family::reduce; ++m)
      if (chance(rng, 50)) dims.push_back(int32_t(m)), out.extents[m] = 1;
    std::shuffle(dims.begin(), dims.end(), rng);
    dim = int32_t(space.empty() ? 0 : pick(rng, 0, int64_t(space.size()) - 1));
    if (family == Family::segmented || by_offsets) {  // the fourth input is the offsets, of any numbers
      const int64_t segments = space.empty() ? 1 : pick(rng, 0, 5);
      if (!space.empty() && !by_offsets) out.extents[size_t(dim)] = segments;
      in[3].extents = {segments + 1};
      if (chance(rng, 95)) in[3].dtype = chance(rng, 50) ? TCU_INT32 : TCU_INT64;
    }
    lay_out(rng, out, false);
    for (Descriptor &d : in) lay_out(rng, d, true);
    if ((family == Family::segmented || by_offsets) && chance(rng, 95)) in[3].has_strides = false;
    if (family == Family::matmul) {
      const int64_t k = pick(rng, 0, 4);
      in[0].extents = {space[0], k}, in[1].extents = {k, space[1]}, in[0].rank = in[1].rank = 2;
      in[0].has_strides = in[1].has_strides = false, in[0].strides = in[1].strides = {1, 4};
      if (chance(rng, 90)) in[0].dtype = in[1].dtype = out.dtype = tcu_dtype_t(pick(rng, TCU_FLOAT32, TCU_COMPLEX128));
    } else if (chance(rng, 60)) {
      tape = random_tape(rng, n_inputs);
      for (int left = values - (chance(rng, 95) ? 1 : 2); left > 0; --left) {
        const auto next = random_tape(rng, n_inputs);
        tape.insert(tape.end(), next.begin(), next.end());
      }
    }
    n_dims = int32_t(dims.size());
    alpha.c[0] = beta.c[0] = 2;
    if (out.dtype < TCU_FLOAT16) alpha.i = beta.i = init.i = 1;
    if (chance(rng, 20)) o.alpha = &alpha;
    if (chance(rng, 20)) o.beta = &beta;
    if (chance(rng, 20)) o.init = &init;
    if (chance(rng, 20)) o.correction = &correction;
    o.scalars = scalars.data(), o.n_scalars = 4;
    if (chance(rng, 15)) o.accumulator = random_dtype();
    o.determinism = chance(rng, 20), o.scan_flags |= uint32_t(pick(rng, 0, 3));
    if (chance(rng, 5)) o.alignment = 1 << pick(rng, 0, 8);
    if (chance(rng, 10)) random_pin();
    if (chance(rng, 5)) share_memory(0, true);
  }

  int n_given() const { return o.second ? std::max(o.n_second, 1) : 0; }  // results beside out
  const tcu_tensor_t *offsets() const { return null_dims ? nullptr : &in[3].tensor; }
  int some_input() { return int(pick(rng, 0, std::clamp(n_inputs, 1, 4) - 1)); }
  void random_pin() {
    int32_t rows = 0;
    const char *name = "nothing";
    tcu_kernel_count(api::context(), &rows);
    if (chance(rng, 80)) tcu_kernel_name(api::context(), int32_t(pick(rng, 0, rows - 1)), &name);
    o.kernel = (pin = name).c_str();
  }
  void share_memory(int i, bool same) {
    shared_with = i;
    Descriptor &d = in[size_t(i)];
    if (same) d.extents = out.extents, d.strides = out.strides, d.rank = out.rank, d.has_strides = out.has_strides, d.dtype = out.dtype;
  }

  // One thing wrong, or at least odd.
  void mutate() {
    Descriptor &d = chance(rng, 50) ? out : in[size_t(some_input())];
    const size_t m = d.extents.empty() ? 0 : size_t(pick(rng, 0, int64_t(d.extents.size()) - 1));
    const bool modes = !d.extents.empty() && !d.strides.empty();
    static const int32_t bad_ids[] = {0, -1, 18, 19, 268, 1023, 1024, INT32_MAX, INT32_MIN};
    static const int32_t bad_counts[] = {-1, 17, 65, 1000, INT32_MAX, INT32_MIN}, bad_ranks[] = {-1, 65, 1000, INT32_MAX, INT32_MIN};
    switch (pick(rng, 0, 24)) {
      case 0: d.has_data = false; break;
      case 1: d.has_extents = false; break;
      case 2: d.dtype = one_of(rng, bad_ids); break;
      case 3: if (modes) d.extents[m] = -pick(rng, 1, 5); break;
      case 4: if (modes) d.extents[m] = one_of(rng, kHuge); break;
      case 5: if (modes) d.strides[m] = one_of(rng, kHuge), d.has_strides = true; break;
      case 6: if (!out.strides.empty()) out.strides[m % out.strides.size()] = 0, out.has_strides = true; break;
      case 7: if (modes) d.strides[m] = pick(rng, -3, 3), d.has_strides = true; break;
      case 8: if (modes && d.extents[m] < 100) d.extents[m] += pick(rng, 1, 2); break;
      case 9: share_memory(some_input(), chance(rng, 30)); break;
      case 10: d.rank = one_of(rng, bad_ranks); break;
      case 11: d.extents.resize(size_t(pick(rng, 65, 70)), 1), d.strides.resize(d.extents.size(), 1), d.rank = int32_t(d.extents.size()); break;
      case 12: dims.push_back(dims.empty() || chance(rng, 50) ? int32_t(pick(rng, -2, 70)) : dims[0]), n_dims = int32_t(dims.size()); break;
      case 13: n_dims = chance(rng, 50) ? -1 : INT32_MIN; break;
      case 14: dims.resize(80, 1), n_dims = chance(rng, 50) ? 80 : INT32_MAX; break;
      case 15: dim = one_of(rng, bad_counts); break;
      case 16: o.struct_size = chance(rng, 50) ? size_t(pick(rng, 0, 200)) : SIZE_MAX; break;
      case 17: fold = one_of(rng, bad_ids); break;
      case 18: n_inputs = one_of(rng, bad_counts); break;
      case 19: (chance(rng, 50) ? null_out : null_inputs) = true; break;
      case 20: chance(rng, 30) ? void(context = nullptr) : chance(rng, 50) ? void(null_dims = true) : random_pin(); break;
      case 21: spoil_options(); break;
      case 22: spoil_tape(); break;
      case 23: spoil_second(); break;
      default: o.n_scalars = int32_t(pick(rng, -1, 1)); break;
    }
  }
  void spoil_options() {
    switch (pick(rng, 0, 6)) {
      case 0: o.determinism = int32_t(pick(rng, -2, 5)); break;
      case 1: o.scan_flags = uint32_t(rng()); break;
      case 2: o.reserved = 1; break;
      case 3: o.alignment = int32_t(rng()); break;
      case 4: o.accumulator = int32_t(pick(rng, -2, 300)); break;
      case 5: o.correction = &correction, correction = chance(rng, 50) ? -1 : NAN; break;
      default: o.scalars = nullptr;
    }
  }
  void spoil_second() {
    static const tcu_dtype_t bad_dtypes[] = {0, -1, 18, 1023, INT32_MAX, INT32_MIN};
    const int64_t how = pick(rng, 0, 6);
    const int i = int(pick(rng, 0, std::max(n_more, 1) - 1));
    Descriptor &d = more[size_t(i)];
    n_more = how == 0 ? 0 : std::max(n_more, 1);
    switch (how) {
      case 1: d.has_data = false; break;
      case 2: d.dtype = one_of(rng, bad_dtypes); break;
      case 3: on_another = i; break;
      case 4:  // of out's extents, in a layout of its own
        spoilt = i, d.extents = out.extents;
        lay_out(rng, d, false);
        break;
      case 5:
        spoilt = i, d.extents.assign(size_t(pick(rng, 0, 4)), pick(rng, 0, 3));
        lay_out(rng, d, true);
        break;
      case 6: odd_count = chance(rng, 50) ? int32_t(pick(rng, 1, 3)) : int32_t(chance(rng, 50) ? -1 : pick(rng, 4, 1000)); break;
    }
  }
  void spoil_tape() {
    if (tape.empty()) tape = random_tape(rng, 1);
    tcu_node_t &n = tape[size_t(pick(rng, 0, int64_t(tape.size()) - 1))];
    switch (pick(rng, 0, 4)) {
      case 0: n.kind = int32_t(pick(rng, -1, 7)); break;
      case 1: n.index = int32_t(chance(rng, 50) ? pick(rng, -1, 500) : int64_t(int32_t(rng()))); break;
      case 2: n.dtype = int32_t(pick(rng, -1, 20)); break;
      case 3: tape.resize(size_t(pick(rng, 0, 300)), n); break;
      default: tape.insert(tape.begin() + pick(rng, 0, int64_t(tape.size()) - 1), api::input(int32_t(pick(rng, 0, 20))));
    }
  }

  // Allocates, and says whether running it is affordable; if not it is planned only.
  bool settle() {
    bool runs = true;
    int64_t first, last, elements, space = 1;
    runs &= out.reach(first, last, elements);
    for (int i = 0; i < int(more.size()); ++i) {
      Descriptor &d = more[size_t(i)];
      if (i != spoilt) {
        d.extents = out.extents, d.strides = out.strides, d.rank = out.rank;
        d.has_extents = out.has_extents, d.has_strides = out.has_strides;
      }
      runs &= d.reach(first, last, elements);
    }
    for (const Descriptor &d : in) {
      runs &= d.reach(first, last, elements);
      space = std::min<int64_t>(space * std::max<int64_t>(elements, 1), kMostElements * 64);
    }
    runs &= space < kMostElements * 64;
    out.allocate(rng);
    for (Descriptor &d : more) d.allocate(rng);
    for (Descriptor &d : in) d.allocate(rng);
    if (runs && shared_with >= 0) share();
    out.describe();
    for (Descriptor &d : more) d.describe();
    for (Descriptor &d : in) d.describe();
    if (on_another >= 0) more[size_t(on_another)].tensor.data = on_another ? more[size_t(on_another) - 1].tensor.data : out.tensor.data;
    for (size_t i = 0; i < more.size(); ++i) more_tensors[i] = more[i].tensor;
    if (n_more) o.second = more_tensors;
    o.n_second = odd_count ? odd_count : n_more == 1 && chance(rng, 50) ? 0 : n_more;
    if (runs && shared_with >= 0 && in[size_t(shared_with)].has_data) in[size_t(shared_with)].tensor.data = shared_data;
    for (size_t i = 0; i < 64; ++i) inputs.push_back(in[i % 4].tensor);
    return runs;
  }

  // Both views in one allocation that is just large enough, at one address or some bytes apart.
  void share() {
    int64_t out_first, out_last, in_first, in_last, n;
    out.reach(out_first, out_last, n), in[size_t(shared_with)].reach(in_first, in_last, n);
    const int64_t shift = chance(rng, 50) ? 0 : 4 * pick(rng, -4, 8);
    out.base = (std::max<int64_t>({0, -out_first, -in_first - shift}) + 15) / 16 * 16;
    out.bytes = out.base + std::max<int64_t>({0, out_last, in_last + shift});
    out.memory.reset(new unsigned char[size_t(out.bytes)]);
    for (int64_t i = 0; i < out.bytes; ++i) out.memory[size_t(i)] = rng() & 1;
    shared_data = out.memory.get() + out.base + shift;
  }
  unsigned char *shared_data = nullptr;

  std::string text() const {
    const char *families[] = {"map", "reduce", "scan", "segmented", "matmul"};
    std::string s = families[int(family)] + (" fold " + std::to_string(fold)) + " dim " + std::to_string(dim) + " out " + out.text();
    for (size_t i = 0; i < 4 && int(i) < n_inputs; ++i) s += "  in " + in[i].text();
    for (int i = 0; i < n_more; ++i) s += "  result " + more[size_t(i)].text();
    return s + (shared_with >= 0 ? "  shared " + std::to_string(shared_with) : "") + (pin.empty() ? "" : " pin " + pin);
  }
};

}  // namespace fuzz
