// Random strided problems on the cuda context, run on every kernel that takes them and compared with the oracle. Inputs are
// small whole numbers, so that every order of adding gives the same bits and the comparison is exact.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "api.h"
#include "tensor.h"

namespace problems {

using support::Rng;
using support::Sizes;
using support::kept_of;
using tensors::base_of, tensors::decode, tensors::encode, tensors::rounded, tensors::with_type;

inline bool has_cuda() {
  int32_t n = 0;
  return tcu_device_count(&n, "cuda") == TCU_OK && n > 0;
}
inline tcu_context_t context() {
  static const tcu_context_t made = [] {
    tcu_context_t c = nullptr;
    if (tcu_context_create(&c, "cuda", 0) != TCU_OK) throw std::runtime_error(tcu_last_error());
    return c;
  }();
  return made;
}
#define NEEDS_CUDA()                                       \
  if (!problems::has_cuda()) {                             \
    WARN("skipped: there is no cuda device on this machine"); \
    return;                                                \
  }

inline int repeats(int standard) {
  return std::max(1, standard * api::test_scale() / 100);
}
// Every case of a large problem runs on a device; on the emulator, where it takes a thousand times as long, some do.
inline bool is_chosen(Rng &rng) { return !api::emulated() || support::chance(rng, 10); }
// f of the cases, on the emulator of some, which change from one list of shapes to the next.
template <class Cases, class F>
void for_cases(Rng &rng, const Cases &cases, F f) {
  for (const auto &c : cases)
    if (is_chosen(rng)) f(c);
}

// How far two neighbours of x are apart when they are stored as d, at most.
inline double stored_error(tcu_dtype_t d, double x) {
  struct Row {
    tcu_dtype_t dtype;
    double eps, least;  // least: the smallest number, where numbers below the normal ones matter
  };
  static constexpr Row rows[] = {{TCU_BFLOAT16, 0x1p-7, 0},       {TCU_FLOAT16, 0x1p-10, 0x1p-24},    {TCU_FLOAT32, 0x1p-23, 0},
                                 {TCU_FLOAT8_E4M3, 0x1p-3, 0x1p-9}, {TCU_FLOAT8_E5M2, 0x1p-2, 0x1p-16}};
  for (const Row &r : rows)
    if (r.dtype == d) return r.eps * std::abs(x) + r.least;
  return 0x1p-52 * std::abs(x);
}

// In the memory of context().
struct Tensor : tensors::Tensor {
  Tensor(Rng &rng, tcu_dtype_t dtype, const Sizes &e, bool zero, bool plain, tensors::Order modes = tensors::Order::first)
      : tensors::Tensor(context(), rng, dtype, e, zero, plain, modes) {}
  using tensors::Tensor::Tensor;
};

inline int64_t random_extent(Rng &rng, int64_t most) {
  const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257, 1021, 1024, 2049};
  const int64_t n = support::chance(rng, 4) ? 0 : support::one_of(rng, sizes);
  return std::min(n, most);
}
// On a device half of them are any numbers, and not beside those that kernels are made by; and some have more than a block takes at once.
inline Sizes random_extents(Rng &rng, int64_t most_elements) {
  Sizes e(size_t(support::pick(rng, 0, 4)));
  int64_t left = most_elements;
  const bool any = !api::emulated() && support::chance(rng, 50);
  if (!api::emulated() && support::chance(rng, 10)) left = std::max<int64_t>(left, 200000);
  for (size_t m = 0; m < e.size(); ++m) {
    const double share = std::pow(double(std::max<int64_t>(left, 1)), 2.0 / double(e.size() - m + 1));
    e[m] = any ? support::pick(rng, 1, std::max<int64_t>(int64_t(share), 1)) : random_extent(rng, left);
    left /= std::max<int64_t>(e[m], 1);
  }
  for (size_t m = e.size(); m > 1; --m) std::swap(e[m - 1], e[rng() % m]);
  return e;
}

inline std::vector<std::string> kernels(const char *family) {
  std::vector<std::string> names{""};  // the planner's choice
  int32_t n = 0;
  tcu_kernel_count(context(), &n);
  for (int32_t i = 0; i < n; ++i) {
    const char *name = nullptr;
    tcu_kernel_name(context(), i, &name);
    if (std::string(name).rfind(std::string(family) + ".", 0) == 0) names.push_back(name);
  }
  return names;
}

// One time in three, for each kernel of other problems.
inline bool has_turn(int problem, size_t kernel) { return Rng(64 * uint64_t(problem) + kernel)() % 3 == 0; }

// Runs call(options) on every kernel that takes the problem; after each, `out` must hold `expected` (rounded to its dtype)
// and every other byte of it must be as it was. Counts the runs by kernel. An element may be off by `relative` of itself, and by
// what `allowed` says of it, if that is not empty, beside the rounding of what is stored. subject: the kernel that the test is about.
template <class Call>
void on_every_kernel(const char *family, Tensor &out, const std::vector<double> &expected, tcu_options_t options,
                     std::vector<int> &runs, const std::string &text, Call call, double relative = 0, const std::vector<double> &allowed = {},
                     const std::string &subject = "") {
  const auto names = kernels(family);
  runs.resize(names.size());
  const std::vector<unsigned char> before = out.bytes;
  for (size_t k = 0; k < names.size(); ++k) {
    // These have a function to compile for every set of inputs that stay: on every fourth problem. So on the emulator do those that run
    // the function of reduce.general, which takes it long, or one of a broadcast besides; and, still more seldom, those on tensor cores after
    // their first.
    const bool sliding = names[k].rfind("broadcast.sliding", 0) == 0, copied = names[k].find(".copied") != std::string::npos;
    const bool general = names[k] == "reduce.tiny" || names[k] == "reduce.virtual" || copied;
    const bool on_tensor_cores = names[k].find(".tcu.") != std::string::npos && runs[k] > 0;
    if ((sliding || (api::emulated() && general)) && runs[0] % 4 != 1) continue;
    if (api::emulated() && on_tensor_cores && (runs[0] % 12 != 1 || expected.size() > 8000)) continue;  // scans of more took 5 to 10 s each
    // What a test is about runs beside the planner's choice, no other: most of what these take there is compiling them. What has had several of
    // a test's problems takes one in three.
    if (api::emulated() && k > 0 && !subject.empty() && names[k] != subject) continue;
    if (api::emulated() && k > 0 && runs[k] > 3 && subject.empty() && !has_turn(runs[0], k)) continue;
    INFO(names[k] << " " << text << " out " << out.text());
    out.upload();
    options.kernel = names[k].empty() ? nullptr : names[k].c_str();
    const tcu_status_t status = call(options);
    INFO(tcu_last_error());
    if (k > 0 && status == TCU_ERROR_KERNEL) continue;
    REQUIRE(std::string(tcu_status_name(status)) == "TCU_OK");
    ++runs[k];
    const std::vector<unsigned char> now = out.download();
    std::vector<unsigned char> want = before;
    size_t n = 0, wrong = 0;
    std::string first;
    support::for_each_index(out.extents, [&](const Sizes &i) {
      const size_t at = size_t(base_of(out, i));
      const double y = decode(out.dtype, now.data() + at), x = rounded(out.dtype, expected[n++]);
      const double far = relative * std::abs(x) + (allowed.empty() ? 0 : allowed[n - 1] + stored_error(out.dtype, x));
      if (!(y == x || (y != y && x != x) || std::abs(y - x) <= far) && wrong++ == 0)
        first = "element " + std::to_string(n - 1) + " is " + std::to_string(y) + ", not " + std::to_string(x);
      std::memcpy(want.data() + at, now.data() + at, out.size);
    });
    INFO(first);
    REQUIRE(wrong == 0);
    REQUIRE((want == now));  // nothing beside the output was written
  }
}

// Says which kernels ran how often. Each of which it is asked must have, but where too few problems are drawn to ask that, or others.
template <class Asked>
void report_if(const char *family, const std::vector<int> &runs, Asked asked) {
  const auto names = kernels(family);
  std::string s;
  for (size_t k = 1; k < runs.size(); ++k) s += names[k] + " " + std::to_string(runs[k]) + "  ";
  WARN(s);
  if (api::test_scale() < api::usual_scale() || !api::drawn_as_written()) return;
  for (size_t k = 0; k < runs.size(); ++k) {
    INFO(names[k]);
    CHECK((runs[k] > 0 || !asked(names[k])));
  }
}
inline bool begins_with_one_of(const std::string &name, const std::vector<std::string> &beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](const std::string &b) { return name.rfind(b, 0) == 0; });
}
// All but those whose names begin so; or those alone.
inline void report(const char *family, const std::vector<int> &runs, const std::vector<std::string> &rare = {}) {
  report_if(family, runs, [&](const std::string &name) { return !begins_with_one_of(name, rare); });
}
inline void report_of(const char *family, const std::vector<int> &runs, const std::vector<std::string> &wanted) {
  report_if(family, runs, [&](const std::string &name) { return begins_with_one_of(name, wanted); });
}

}  // namespace problems
