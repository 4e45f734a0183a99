// Scans of expressions that leave two values, on the cuda kernels against the oracle: segments by flags, and linear recurrences.
#include <limits>

#include "problems.h"

using namespace problems;

namespace {

struct Case {
  tcu_reduce_op_t op;
  oracle::Fold fold;  // of segments
  tcu_dtype_t gate, in, out;
};
const Case cases[] = {  // each is some ten functions to compile; on the emulator, where one takes seconds, the first three run
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_BOOL, TCU_FLOAT32, TCU_FLOAT32},
    {TCU_REDUCE_RECURRENCE, {}, TCU_FLOAT32, TCU_FLOAT32, TCU_FLOAT32},
    {TCU_REDUCE_MAX, oracle::Fold::max, TCU_UINT8, TCU_FLOAT16, TCU_FLOAT16},
    {TCU_REDUCE_RECURRENCE, {}, TCU_BFLOAT16, TCU_BFLOAT16, TCU_FLOAT32},
    {TCU_REDUCE_RECURRENCE, {}, TCU_INT8, TCU_INT32, TCU_INT64},
    {TCU_REDUCE_PROD, oracle::Fold::prod, TCU_INT32, TCU_FLOAT64, TCU_FLOAT64},
    {TCU_REDUCE_COUNT, oracle::Fold::count, TCU_BOOL, TCU_INT8, TCU_INT64},
    {TCU_REDUCE_ANY, oracle::Fold::any, TCU_BOOL, TCU_UINT8, TCU_BOOL},
};

// rarely: segments of some hundred elements, not of some few. special: Inf and NaN among the elements.
void run_case(Rng &rng, const Case &c, const Sizes &extents, int dim, bool plain, std::vector<int> &runs) {
  const bool recurrence = c.op == TCU_REDUCE_RECURRENCE, rarely = support::chance(rng, 50);
  const bool special = c.in >= TCU_FLOAT16 && support::chance(rng, 50), in_place = c.in == c.out && support::chance(rng, 20);
  Sizes gates = extents;
  for (size_t m = 0; m < gates.size(); ++m)
    if (m != size_t(dim) && support::chance(rng, 15)) gates[m] = 1;  // one line of gates for several of elements
  Tensor gate(rng, c.gate, gates, !plain, plain), in(rng, c.in, extents, !plain && !in_place, plain);
  std::unique_ptr<Tensor> other = in_place ? nullptr : std::make_unique<Tensor>(rng, c.out, extents, false, plain);
  Tensor &out = in_place ? in : *other;
  if (other) other->fill([] { return 1.0; });
  gate.fill([&]() -> double {
    if (recurrence) return support::chance(rng, 60) ? (support::chance(rng, 50) ? 1 : -1) : 0;
    return rarely ? rng() % 300 == 0 : support::chance(rng, 20);
  });
  in.fill([&]() -> double {
    if (special && rng() % 500 == 0)
      return support::chance(rng, 50) ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return c.op == TCU_REDUCE_PROD ? (support::chance(rng, 50) ? 1 : -1) : double(support::pick(rng, c.in == TCU_UINT8 ? 0 : -4, 4));
  });
  const oracle::Scan how{dim, support::chance(rng, 30), support::chance(rng, 30)};
  tcu_options_t options = TCU_OPTIONS_INIT;
  options.scan_flags = (how.exclusive ? TCU_SCAN_EXCLUSIVE : 0) | (how.reverse ? TCU_SCAN_REVERSE : 0) |
                       (recurrence ? 0 : TCU_SCAN_SEGMENTED);
  tcu_scalar_t init{};
  double start = recurrence ? 0 : oracle::identity(c.fold);
  const bool whole = c.in < TCU_FLOAT16, logical = c.op == TCU_REDUCE_ANY || c.op == TCU_REDUCE_ALL;
  if (!logical && (how.exclusive || support::chance(rng, 30))) {
    start = 3;
    if (whole) init.i = 3;
    else init.f = 3;
    options.init = &init;
  }
  const std::vector<oracle::Tensor> values{gate.values(), in.values()};
  const auto expected = recurrence ? oracle::scan_lines(extents, values, how, start, oracle::recurrence())
                                   : oracle::scan_lines(extents, values, how, start, oracle::segmented(c.fold, start));
  const tcu_tensor_t o = out.view(), inputs[] = {gate.view(), in.view()};
  const std::string text = std::string(tcu_reduce_op_name(c.op)) + " " + in.text() + " gated by " + gate.text() + " along " +
                           std::to_string(dim) + (how.exclusive ? " exclusive" : "") + (how.reverse ? " reverse" : "") +
                           (in_place ? " in place" : "");
  on_every_kernel("scan", out, expected, options, runs, text, [&](const tcu_options_t &with) {
    return tcu_scan(context(), &o, c.op, nullptr, 2, inputs, dim, &with);
  });
}

}  // namespace

TEST_CASE("cuda: segments by flags, and recurrences, on every kernel", "[cuda][scan][gated]") {
  NEEDS_CUDA();
  Rng rng(17);
  std::vector<int> runs;
  const int n = api::emulated() ? 3 : int(std::size(cases));
  for (int i = 0; i < repeats(60); ++i) {
    const Sizes extents = random_extents(rng, 2100);
    run_case(rng, cases[i % n], extents, int(support::pick(rng, 0, std::max<int64_t>(int64_t(extents.size()) - 1, 0))),
             support::chance(rng, 50), runs);
  }
  for (int i = 0; i < n; ++i) {
    const Case &c = cases[i];
    run_case(rng, c, {support::pick(rng, 16400, 30000)}, 0, true, runs);  // a line of several tiles
    run_case(rng, c, {support::pick(rng, 16400, 20000), 2}, 0, true, runs);
    run_case(rng, c, {2, 12000}, 1, true, runs);  // lines whose elements alternate
    run_case(rng, c, {3, 70, 40}, 1, true, runs);
    run_case(rng, c, {3, 8300}, 1, true, runs);   // lines side by side, few and long
    run_case(rng, c, {200, 300}, 1, true, runs);  // strips of tiles that hand on what comes before the next
    run_case(rng, c, {100, 70}, 0, true, runs);   // several lines to a tile
    run_case(rng, c, {1001, 11}, 0, true, runs);
    if (!api::emulated()) run_case(rng, c, {1 << 20}, 0, true, runs), run_case(rng, c, {34000, 150}, 1, true, runs);
  }
  report("scan", runs, {"scan.tcu.", "scan.copied", "scan.turned"});
}

// exp(-t) decays: y = a y + x of float32, whose products of factors underflow, against float64 step by step.
TEST_CASE("cuda: a recurrence whose factors' products underflow", "[cuda][scan][gated]") {
  NEEDS_CUDA();
  Rng rng(18);
  const int64_t n = 40000;
  Tensor a(rng, TCU_FLOAT32, {n}, false, true), x(rng, TCU_FLOAT32, {n}, false, true), y(rng, TCU_FLOAT32, {n}, false, true);
  std::uniform_real_distribution<double> uniform(0, 1);
  a.fill([&] { return uniform(rng) * 0.999; });
  x.fill([&] { return uniform(rng); });
  const auto expected = oracle::scan_lines({n}, {a.values(), x.values()}, {0}, 0, oracle::recurrence());
  std::vector<int> runs;
  const tcu_tensor_t o = y.view(), inputs[] = {a.view(), x.view()};
  on_every_kernel("scan", y, expected, TCU_OPTIONS_INIT, runs, "decays", [&](const tcu_options_t &with) {
    return tcu_scan(context(), &o, TCU_REDUCE_RECURRENCE, nullptr, 2, inputs, 0, &with);
  }, 1e-5);
}

TEST_CASE("cuda: scans of segments by offsets", "[cuda][scan][gated]") {
  NEEDS_CUDA();
  Rng rng(19);
  std::vector<int> runs;
  for (const Sizes &extents : {Sizes{1}, Sizes{5000}, Sizes{40000}, Sizes{70, 300}}) {
    const int dim = int(extents.size()) - 1;
    const int64_t n = extents[size_t(dim)];
    std::vector<int64_t> cuts{0};
    while (cuts.back() < n) cuts.push_back(std::min(n, cuts.back() + support::pick(rng, 0, 60)));
    const bool narrow = support::chance(rng, 50), reverse = support::chance(rng, 50);
    Tensor at(rng, narrow ? TCU_INT32 : TCU_INT64, {int64_t(cuts.size())}, false, true), in(rng, TCU_FLOAT32, extents, false, true),
        out(rng, TCU_FLOAT32, extents, false, true);
    size_t next = 0;
    at.fill([&] { return double(cuts[next++]); });
    in.fill([&] { return double(support::pick(rng, -4, 4)); });
    Sizes along(extents.size(), 1);
    along[size_t(dim)] = n;
    std::vector<double> begins(size_t(n), 0.0);
    for (const int64_t cut : cuts)
      if (cut - reverse >= 0 && cut - reverse < n) begins[size_t(cut - reverse)] = 1;
    const auto expected = oracle::scan_lines(extents, {oracle::Tensor(along, begins), in.values()}, {dim, false, reverse}, 0,
                                             oracle::segmented(oracle::Fold::sum, 0));
    tcu_options_t options = TCU_OPTIONS_INIT;
    options.scan_flags = reverse ? TCU_SCAN_REVERSE : 0;
    const tcu_tensor_t o = out.view(), x = in.view(), offsets = at.view();
    on_every_kernel("scan", out, expected, options, runs, "by offsets", [&](const tcu_options_t &with) {
      return tcu_segmented_scan(context(), &o, TCU_REDUCE_SUM, nullptr, 1, &x, dim, &offsets, &with);
    });
  }
}
