// 100,000 random descriptors, half of them broken on purpose. Nothing crashes, a call that fails leaves every byte of the
// output and of others as it was, and one that succeeds writes inside their views alone; the maximum that is a second
// result is the one that is a first. Buffers are exact heap allocations, so that a sanitized build sees every access beyond
// them. Host memory: for the cpu backend.
#include <array>
#include <cstdio>
#include <map>

#include "capi/fuzz.h"

using namespace fuzz;

namespace {

constexpr int kRounds = 100000;

struct Outcome {
  tcu_status_t status;
  std::string message;
};
Outcome outcome(tcu_status_t status) { return {status, tcu_last_error()}; }

Outcome plan_and_run(Case &c, tcu_expr_t expr, const tcu_tensor_t *out, const tcu_tensor_t *in, bool run) {
  tcu_plan_t plan = reinterpret_cast<tcu_plan_t>(&c);
  const int32_t *dims = c.null_dims ? nullptr : c.dims.data();
  Outcome made = outcome(
      c.family == Family::reduce ? tcu_plan_reduce(&plan, c.context, out, c.fold, expr, c.n_inputs, in, c.n_dims, dims, &c.o)
      : c.family == Family::segmented
          ? tcu_plan_segmented_reduce(&plan, c.context, out, c.fold, expr, c.n_inputs, in, c.dim, c.offsets(), &c.o)
      : c.family == Family::scan ? tcu_plan_scan(&plan, c.context, out, c.fold, expr, c.n_inputs, in, c.dim, &c.o)
                                 : tcu_plan_map(&plan, c.context, out, expr, c.n_inputs, in, &c.o));
  if (made.status != TCU_OK) {
    if (plan) FAIL("a plan that was refused and is not null");
    return made;
  }
  if (run) {
    std::vector<const void *> data;
    for (const tcu_tensor_t &t : c.inputs) data.push_back(t.data);
    const bool segmented = c.family == Family::segmented;
    if (segmented) data[size_t(c.n_inputs)] = c.in[3].tensor.data;
    made = outcome(tcu_plan_execute(plan, c.out.tensor.data, c.n_inputs + segmented, data.data(), &c.o));
  }
  tcu_plan_destroy(plan);
  return made;
}

Outcome call(Case &c, bool run) {
  tcu_expr_t expr = nullptr;
  if (!c.tape.empty()) {
    const Outcome made = outcome(tcu_expr_create(&expr, c.tape.data(), int32_t(c.tape.size())));
    if (made.status != TCU_OK) return made;
  }
  const tcu_tensor_t *out = c.null_out ? nullptr : &c.out.tensor, *in = c.null_inputs ? nullptr : c.inputs.data();
  const int32_t *dims = c.null_dims ? nullptr : c.dims.data();
  Outcome result;
  if (run && c.family == Family::matmul)
    result = outcome(tcu_matmul(c.context, out, in, in ? in + 1 : nullptr, &c.o));
  else if (run && c.by_offsets)  // there is no plan of it
    result = outcome(tcu_segmented_scan(c.context, out, c.fold, expr, c.n_inputs, in, c.dim, c.offsets(), &c.o));
  else if (!run || chance(c.rng, 30))
    result = plan_and_run(c, expr, out, in, run);
  else if (c.family == Family::map)
    result = outcome(tcu_map(c.context, out, expr, c.n_inputs, in, &c.o));
  else if (c.family == Family::reduce)
    result = outcome(tcu_reduce(c.context, out, c.fold, expr, c.n_inputs, in, c.n_dims, dims, &c.o));
  else if (c.family == Family::segmented)
    result = outcome(tcu_segmented_reduce(c.context, out, c.fold, expr, c.n_inputs, in, c.dim, c.offsets(), &c.o));
  else
    result = outcome(tcu_scan(c.context, out, c.fold, expr, c.n_inputs, in, c.dim, &c.o));
  if (expr) tcu_expr_destroy(expr);
  return result;
}

// Which bytes of the output's allocation belong to its elements.
std::vector<bool> view_of(const Descriptor &d) {
  std::vector<bool> mask(size_t(d.bytes), false);
  const support::Sizes extents(d.extents.begin(), d.extents.begin() + d.rank);
  const support::Sizes strides = d.has_strides ? d.strides : support::dense(extents);
  const int size = tcu_dtype_bytes(d.dtype);
  support::for_each_index(extents, [&](const support::Sizes &i) {
    for (int b = 0; b < size; ++b) mask[size_t(d.base + support::offset(i, strides) * size + b)] = true;
  });
  return mask;
}

std::vector<unsigned char> bytes_of(const Descriptor &d) { return {d.memory.get(), d.memory.get() + d.bytes}; }

// Whether a result was written, after a check that nothing else was, and nothing at all where nothing may be.
bool check_written(const Descriptor &d, const std::vector<unsigned char> &before, bool may_write, const std::string &text) {
  if (before.empty() || std::memcmp(before.data(), d.memory.get(), before.size()) == 0) return false;
  if (!may_write) FAIL(text << " changed");
  const std::vector<bool> view = view_of(d);
  for (size_t i = 0; i < before.size(); ++i)
    if (before[i] != d.memory[i] && !view[i]) FAIL(text << ": byte " << i << " lies outside the elements");
  return true;
}

// The bits may be any that mean NaN.
bool is_nan(tcu_dtype_t d, const unsigned char *x) {
  if (d == TCU_FLOAT8_E4M3) return (*x & 0x7f) == 0x7f;  // it has no infinity
  static const std::map<tcu_dtype_t, int> fractions = {
      {TCU_FLOAT16, 10}, {TCU_BFLOAT16, 7}, {TCU_FLOAT32, 23}, {TCU_FLOAT64, 52}, {TCU_FLOAT8_E5M2, 2}};
  const auto fraction = fractions.find(d);
  if (fraction == fractions.end()) return false;
  const int mantissa = fraction->second;
  uint64_t bits = 0;
  const int size = tcu_dtype_bytes(d);
  std::memcpy(&bits, x, size_t(size));
  const uint64_t infinity = (uint64_t(1) << (8 * size - 1)) - (uint64_t(1) << mantissa);
  return (bits & (infinity | ((uint64_t(1) << mantissa) - 1))) > infinity;
}

// What EXTREMA put second is what MAX puts there.
void check_maximum(Case &c) {
  const std::vector<unsigned char> found = bytes_of(c.second);
  std::swap(c.out, c.second);
  c.fold = TCU_REDUCE_MAX, c.o.second = nullptr, c.o.n_second = 0, c.o.alpha = c.o.beta = nullptr, c.o.kernel = nullptr, c.o.alignment = 0;
  const Outcome again = call(c, true);
  if (again.status != TCU_OK) FAIL("MAX of what EXTREMA takes: " << again.message);
  const size_t size = size_t(tcu_dtype_bytes(c.out.dtype)), first = size_t(c.out.base) % size;
  for (size_t i = first; i + size <= found.size(); i += size) {
    const unsigned char *now = c.out.memory.get() + i;
    if (std::memcmp(&found[i], now, size) != 0 && !(is_nan(c.out.dtype, &found[i]) && is_nan(c.out.dtype, now)))
      FAIL("the second result at byte " << i << " is not the maximum");
  }
}

}  // namespace

TEST_CASE("fuzz: random descriptors, half of them broken") {
  // For a debugger: TCUOPS_FUZZ_TRACE=1 prints the rounds, so that a sanitizer's last word has a number, and
  // TCUOPS_FUZZ_ROUND=<n> runs that one alone.
  int64_t only_one = -1;
  const bool trace = std::getenv("TCUOPS_FUZZ_TRACE") != nullptr;
  if (const char *round = std::getenv("TCUOPS_FUZZ_ROUND")) only_one = std::atoll(round);
  if (const char *backend = std::getenv("TCUOPS_TEST_BACKEND"))
    if (std::string(backend) != "cpu") return;
  std::map<std::string, int> seen;
  int succeeded[2] = {0, 0}, planned = 0, maxima = 0, of_maps[TCU_MAX_RESULTS - 1] = {};
  std::map<tcu_reduce_op_t, int> seconds;
  for (int64_t round = 0; round < kRounds; ++round) {
    if (only_one >= 0 && round != only_one) continue;
    Case c(uint64_t(round) * 2654435761u + 1);
    c.make();
    const bool broken = round % 2 == 1;
    if (broken)
      for (int64_t n = support::pick(c.rng, 1, 2); n > 0; --n) c.mutate();
    const bool run = c.settle();
    if (trace) std::fprintf(stderr, "round %lld: %s\n", (long long)round, c.text().c_str());
    const std::vector<unsigned char> before = bytes_of(c.out);
    std::array<std::vector<unsigned char>, TCU_MAX_RESULTS - 1> more_before;
    for (size_t i = 0; i < more_before.size(); ++i) more_before[i] = bytes_of(c.more[i]);
    const Outcome result = call(c, run);
    const bool ok = result.status == TCU_OK;
    ++seen[tcu_status_name(result.status)], succeeded[broken] += ok, planned += !run;

    if (ok != result.message.empty()) FAIL("round " << round << ": " << tcu_status_name(result.status) << " with '" << result.message << "'");
    for (tcu_status_t never : {TCU_ERROR_INTERNAL, TCU_ERROR_CUDA, TCU_ERROR_OUT_OF_MEMORY})
      if (result.status == never) FAIL("round " << round << ": " << result.message);
    const std::string text = "round " + std::to_string(round) + " (" + tcu_status_name(result.status) + "): ";
    check_written(c.out, before, ok && run, text + "the output");
    int written = 0;
    for (int i = 0; i < int(more_before.size()); ++i)
      written += check_written(c.more[size_t(i)], more_before[size_t(i)], ok && run && i < c.n_given(),
                               text + "output " + std::to_string(i + 2));
    if (written == 0) continue;
    if (c.family == Family::map) {
      ++of_maps[written - 1];
      continue;
    }
    ++seconds[c.fold];
    if (c.fold != TCU_REDUCE_EXTREMA || broken) continue;
    INFO(text << c.text());
    check_maximum(c), ++maxima;
  }
  if (only_one >= 0) return;
  std::string summary;
  for (const auto &[name, n] : seen) summary += name + " " + std::to_string(n) + "  ";
  INFO(summary << " planned only " << planned);
  CHECK(succeeded[0] > kRounds / 8);  // most of the unspoilt half runs
  CHECK(succeeded[1] < kRounds / 4);
  for (tcu_reduce_op_t fold = 1; fold <= kFolds; ++fold) {
    INFO(tcu_reduce_op_name(fold) << " wrote " << seconds[fold] << " second outputs");
    CHECK((seconds[fold] > kRounds / 2000) == has_second_result(fold));
  }
  CHECK(maxima > kRounds / 2000);
  for (int maps : of_maps) CHECK(maps > kRounds / 2000);
  // Every kind of refusal that a descriptor can earn was met.
  for (const char *name : {"NULL", "DTYPE", "OP", "EXPR", "RANK", "EXTENT", "OVERFLOW", "SHAPE", "ALIAS", "OVERLAP", "DIM",
                           "REDUCED_MODE", "EMPTY", "STRUCT_SIZE", "OPTION", "KERNEL", "ALIGNMENT"})
    CHECK(seen[std::string("TCU_ERROR_") + name] > 0);
}
