// MEAN, VAR, STD, NORM and LOGSUMEXP on the cuda kernels against their definitions in long double.
#include <span>

#include "problems.h"

using namespace problems;

namespace {

struct Case {
  tcu_reduce_op_t op;
  oracle::Fold fold;
  tcu_dtype_t in, out;
};
const Case cases[] = {
    {TCU_REDUCE_VAR, oracle::Fold::var, TCU_FLOAT32, TCU_FLOAT32},   {TCU_REDUCE_VAR, oracle::Fold::var, TCU_FLOAT16, TCU_FLOAT16},
    {TCU_REDUCE_STD, oracle::Fold::std, TCU_FLOAT32, TCU_FLOAT32},   {TCU_REDUCE_VAR, oracle::Fold::var, TCU_FLOAT64, TCU_FLOAT64},
    {TCU_REDUCE_MEAN, oracle::Fold::mean, TCU_FLOAT32, TCU_FLOAT32}, {TCU_REDUCE_MEAN, oracle::Fold::mean, TCU_BFLOAT16, TCU_BFLOAT16},
    {TCU_REDUCE_LOGSUMEXP, oracle::Fold::logsumexp, TCU_FLOAT32, TCU_FLOAT32},
    {TCU_REDUCE_LOGSUMEXP, oracle::Fold::logsumexp, TCU_BFLOAT16, TCU_BFLOAT16},
};
// What is compiled at run time: few cases, since each costs the emulator's compiler seconds a kernel.
const Case compiled[] = {
    {TCU_REDUCE_NORM, oracle::Fold::norm, TCU_FLOAT32, TCU_FLOAT32}, {TCU_REDUCE_VAR, oracle::Fold::var, TCU_INT8, TCU_FLOAT64},
    {TCU_REDUCE_STD, oracle::Fold::std, TCU_FLOAT16, TCU_FLOAT32},
};
bool is_half(tcu_dtype_t d) { return d == TCU_FLOAT16 || d == TCU_BFLOAT16; }

double eps_of(const Case &c) { return c.in == TCU_FLOAT64 || c.in == TCU_INT8 ? 0x1p-53 : 0x1p-24; }
double normal(Rng &rng) {  // as good as
  double s = -6;
  for (int i = 0; i < 12; ++i) s += double(rng() >> 11) * 0x1p-53;
  return s;
}

// further: elements by which the input begins further on, less than a row has.
void run_case(Rng &rng, const Case &c, const Sizes &extents, const std::vector<int32_t> &dims, bool plain, std::vector<int> &runs, int64_t further = 0,
              tensors::Order order = tensors::Order::first) {
  const Sizes kept = kept_of(extents, dims);
  Sizes room = extents;
  if (further > 0) ++room.back();
  Tensor in(rng, c.in, room, !plain, plain, order), out(rng, c.out, kept, false, plain);
  if (further > 0) in.narrow(room.size() - 1, extents.back()).base += further;
  const double mean = c.in == TCU_INT8 || support::chance(rng, 30) ? 0 : is_half(c.in) ? 5 : 1e6, deviation = c.in == TCU_INT8 ? 10 : 1;
  in.fill([&] { return mean + deviation * normal(rng); });
  std::vector<double> old;
  out.fill([&] { return double(old.emplace_back(double(support::pick(rng, -3, 3)))); });
  tcu_options_t options = TCU_OPTIONS_INIT;
  tcu_scalar_t alpha{}, beta{};
  double a = 1, b = 0, correction = support::one_of(rng, std::vector<double>{1, 1, 0, 2.5});
  alpha.f = 2, beta.f = -1;
  if (support::chance(rng, 25)) a = 2, b = -1, options.alpha = &alpha, options.beta = &beta;
  if (correction == 1) options.correction = nullptr;
  else options.correction = &correction;
  auto expected = oracle::statistics(c.fold, {in.values()}, dims, correction);
  auto allowed = oracle::statistic_errors(c.fold, {in.values()}, dims, correction, eps_of(c));
  // Equal elements (of a stride of 0) have no deviation; their definition, with a mean that is rounded, has some 1e-10.
  if (c.fold == oracle::Fold::var || c.fold == oracle::Fold::std)
    for (double &v : expected) v = v < (c.fold == oracle::Fold::var ? 1e-12 : 1e-6) ? 0 : v;
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] = a * expected[i] + b * old[i];
    allowed[i] = a * allowed[i] + 2 * eps_of(c) * std::abs(expected[i]);
  }
  const tcu_tensor_t o = out.view(), x = in.view();
  std::string text = std::string(tcu_reduce_op_name(c.op)) + " " + in.text() + " around " + std::to_string(mean) + " dims";
  for (int32_t d : dims) text += " " + std::to_string(d);
  on_every_kernel("reduce", out, expected, options, runs, text, [&](const tcu_options_t &with) {
    return tcu_reduce(context(), &o, c.op, nullptr, 1, &x, int32_t(dims.size()), dims.data(), &with);
  }, 0, allowed);
}

}  // namespace

TEST_CASE("cuda: random means, variances and logarithms of sums on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(41);
  std::vector<int> runs;
  for (int i = 0; i < repeats(60); ++i) {
    const Sizes extents = random_extents(rng, 4096);
    std::vector<int32_t> dims;
    for (size_t m = 0; m < extents.size(); ++m)
      if (support::chance(rng, 50)) dims.push_back(int32_t(m));
    run_case(rng, support::one_of(rng, cases), extents, dims, support::chance(rng, 50), runs);
  }
  for_cases(rng, cases, [&](const Case &c) {  // those of test_reduce.cpp that are split, and the short ones
    run_case(rng, c, {40003}, {0}, support::chance(rng, 50), runs);
    run_case(rng, c, {33600}, {0}, true, runs);
    run_case(rng, c, {8, 4160}, {1}, true, runs);
    run_case(rng, c, {515, 140}, {1}, true, runs);
    run_case(rng, c, {8300, 3, 5}, {0, 2}, true, runs);
    for (int64_t n : {1, 2, 3, 7, 8, 16, 31, 48, 64, 256, 1024}) run_case(rng, c, {n, 37}, {0}, true, runs);
    run_case(rng, c, {112, 5, 9}, {0, 2}, true, runs);
    run_case(rng, c, {3, 600, 5}, {0, 2}, true, runs);
    run_case(rng, c, {0, 5}, {0}, true, runs);
  });
  // rows of four and eight vectors, so many that they are read from shared memory (on the emulator a kernel takes one in three)
  for (const Case &c : {cases[0], cases[3]})
    for (int64_t bytes : {64, 128})
      for (int i = 0; i < (api::emulated() ? 3 : 1); ++i)
        run_case(rng, c, {bytes / tcu_dtype_bytes(c.in), ((api::emulated() ? 33 << 10 : 33 << 20) / bytes) + 3}, {0}, true, runs);
  run_case(rng, cases[0], {3, 5, 1201}, {1}, true, runs);  // reduce.periods
  for (const Case &c : {cases[0], cases[3]}) run_case(rng, c, {133, 7, 3}, {1}, true, runs);  // reduce.abreast
  for (const Case &c : {cases[0], cases[1], cases[6]}) run_case(rng, c, {72, 3, 136}, {1}, true, runs, 0, tensors::Order::reversed);  // reduce.turned
  for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, {2, 64, 60}, {1}, true, runs); });
  for (const Case &c : compiled) {
    run_case(rng, c, {40003}, {0}, true, runs);
    run_case(rng, c, {64, 500}, {1}, true, runs);
    run_case(rng, c, {48, 37}, {0}, true, runs);
  }
  for (const auto &list : {std::span<const Case>(cases), std::span<const Case>(compiled)})  // rows that are no whole vectors
    for_cases(rng, list, [&](const Case &c) { run_case(rng, c, {115, 1540}, {1}, true, runs); });
  report("reduce", runs, {"reduce.copied", "reduce.flat", "reduce.tcu."});  // flat: of several inputs
}

TEST_CASE("cuda: statistics of columns whose first row begins anywhere, on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(44);
  for (const Case &c : {cases[0], cases[1], cases[6]}) {
    std::vector<int> runs;  // of these alone: the emulator leaves out what it has run often
    for (int64_t further : {1, 2, 3, 5}) run_case(rng, c, {115, 1540}, {1}, true, runs, further);
    report_of("reduce", runs, {"reduce.shifted", "reduce.split", "reduce.strided"});
  }
}

TEST_CASE("cuda: statistics of equal elements, of infinities and NaN", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(42);
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  tcu_options_t options = TCU_OPTIONS_INIT;
  const double zero = 0;
  options.correction = &zero;
  for (const Sizes &extents : {Sizes{9, 5}, Sizes{64, 3}, Sizes{40000, 1}, Sizes{16, 2600}})
    for (int32_t dim : {0, 1})
      for (double special : {0.0, inf, -inf, nan})
        for (const Case &c : {cases[0], cases[6]}) {
          if (support::product(extents) > 1000 && (!is_chosen(rng) || !is_chosen(rng))) continue;
          const Sizes kept = kept_of(extents, {dim});
          Tensor in(rng, TCU_FLOAT32, extents, false, true), out(rng, TCU_FLOAT32, kept, false, true);
          in.fill([] { return 1e6 + 0.1; });
          if (special != 0) encode(TCU_FLOAT32, in.at({extents[0] / 2, extents[1] / 2}), special), in.upload();
          out.fill([] { return 1.0; });
          const auto expected = oracle::statistics(c.fold, {in.values()}, {dim}, 0);
          const auto allowed = oracle::statistic_errors(c.fold, {in.values()}, {dim}, 0, 0x1p-24);
          std::vector<int> runs;
          const tcu_tensor_t o = out.view(), x = in.view();
          // Equal elements have no variance at all: their definition, with a mean that is rounded, has one of some 1e-20.
          std::vector<double> exact = expected;
          if (c.fold == oracle::Fold::var)
            for (double &v : exact) v = v < 1 ? 0 : v;
          on_every_kernel("reduce", out, exact, options, runs, in.text(), [&](const tcu_options_t &with) {
            return tcu_reduce(context(), &o, c.op, nullptr, 1, &x, 1, &dim, &with);
          }, 0, c.fold == oracle::Fold::var ? std::vector<double>{} : allowed);
        }
}

// Distances measured from such an element would be nearly all the same, and their squares' difference from it rounding.
TEST_CASE("cuda: a variance whose first element is far from all others", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(43);
  const Case &c = cases[0];
  for (const Sizes &extents : {Sizes{256, 64}, Sizes{2048, 5}, Sizes{33600, 1}})
    for (int32_t dim : {0, 1}) {
      if (extents[size_t(dim)] == 1) continue;  // no variance
      const Sizes kept = kept_of(extents, {dim});
      Sizes at = {0, 0};
      Tensor in(rng, TCU_FLOAT32, extents, false, true), out(rng, TCU_FLOAT32, kept, false, true);
      in.fill([&] { return normal(rng); });
      for (int64_t &k = at[size_t(1 - dim)]; k < kept[size_t(1 - dim)]; ++k) encode(TCU_FLOAT32, in.at(at), 1e6);
      in.upload();
      out.fill([] { return 1.0; });
      const auto expected = oracle::statistics(c.fold, {in.values()}, {dim}, 1);
      std::vector<double> allowed(expected);  // less than the bound of docs/numerics.md
      for (double &v : allowed) v *= 32 * 0x1p-24;  // 18 of reduce.general, of one of many seeds
      std::vector<int> runs;
      const tcu_options_t options = TCU_OPTIONS_INIT;
      const tcu_tensor_t o = out.view(), x = in.view();
      on_every_kernel("reduce", out, expected, options, runs, in.text(), [&](const tcu_options_t &with) {
        return tcu_reduce(context(), &o, c.op, nullptr, 1, &x, 1, &dim, &with);
      }, 0, allowed);
    }
}

TEST_CASE("cuda: a variance of very many elements", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(44);
  const int64_t n = api::emulated() ? 33333 : (1 << 23) + 5;
  Tensor in(rng, TCU_FLOAT32, {n}, false, true), out(rng, TCU_FLOAT32, {1}, false, true);
  in.fill([&] { return 3 + normal(rng); });
  out.fill([] { return 1.0; });
  const int32_t dim = 0;
  const auto expected = oracle::statistics(oracle::Fold::var, {in.values()}, {dim}, 1);
  std::vector<int> runs;
  const tcu_tensor_t o = out.view(), x = in.view();
  on_every_kernel("reduce", out, expected, TCU_OPTIONS_INIT, runs, in.text(), [&](const tcu_options_t &with) {
    return tcu_reduce(context(), &o, TCU_REDUCE_VAR, nullptr, 1, &x, 1, &dim, &with);
  }, 0, {16 * 0x1p-24 * expected[0]});
}

TEST_CASE("cuda: statistics of segments of every small length", "[cuda][segmented]") {
  NEEDS_CUDA();
  Rng rng(43);
  const tcu_options_t options = TCU_OPTIONS_INIT;
  std::vector<int64_t> at{0};
  for (int64_t length = 0; length <= 40; ++length) at.push_back(at.back() + length);
  at.push_back(at.back() + 3000);
  const int64_t segments = int64_t(at.size()) - 1;
  for (const Case &c : {cases[0], cases[2], cases[5], cases[6]}) {
    Tensor in(rng, c.in, {2, at.back()}, false, true), out(rng, TCU_FLOAT32, {2, segments}, false, true);
    Tensor offsets(rng, TCU_INT32, {segments + 1}, false, true);
    in.fill([&] { return 100 + 8 * normal(rng); });
    out.fill([] { return 1.0; });
    size_t next = 0;
    offsets.fill([&] { return double(at[next++]); });
    const oracle::Tensor values = in.values();
    std::vector<double> expected, allowed;
    support::for_each_index({2, segments}, [&](const Sizes &i) {
      std::vector<double> elements;
      for (int64_t k = at[size_t(i[1])]; k < at[size_t(i[1]) + 1]; ++k) elements.push_back(values.at({i[0], k}));
      expected.push_back(oracle::statistic(c.fold, elements, 1));
      allowed.push_back(oracle::statistic_error(c.fold, elements, 1, eps_of(c)));
    });
    std::vector<int> runs;
    const tcu_tensor_t o = out.view(), x = in.view(), f = offsets.view();
    on_every_kernel("segmented", out, expected, options, runs, in.text(), [&](const tcu_options_t &with) {
      return tcu_segmented_reduce(context(), &o, c.op, nullptr, 1, &x, 1, &f, &with);
    }, 0, allowed);
  }
}
