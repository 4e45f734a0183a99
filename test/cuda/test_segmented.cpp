// Segments on the cuda kernels against the oracle.
#include "problems.h"

using namespace problems;

namespace {

struct Case {
  tcu_reduce_op_t op;
  oracle::Fold fold;
  tcu_dtype_t in, out;
};
const Case cases[] = {
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT32, TCU_FLOAT32},   {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT16, TCU_FLOAT32},
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_INT8, TCU_INT64},        {TCU_REDUCE_MAX, oracle::Fold::max, TCU_FLOAT64, TCU_FLOAT64},
    {TCU_REDUCE_MIN, oracle::Fold::min, TCU_INT32, TCU_INT32},       {TCU_REDUCE_ANY, oracle::Fold::any, TCU_BOOL, TCU_BOOL},
    {TCU_REDUCE_COUNT, oracle::Fold::count, TCU_FLOAT32, TCU_INT32}, {TCU_REDUCE_ARGMAX, oracle::Fold::argmax, TCU_FLOAT32, TCU_INT64},
};

// Cuts 0..n into segments, some of them empty.
std::vector<int64_t> random_offsets(Rng &rng, int64_t n, int64_t segments) {
  std::vector<int64_t> at{0};
  for (int64_t s = 1; s < segments; ++s) at.push_back(support::chance(rng, 25) ? at.back() : support::pick(rng, 0, n));
  at.push_back(n);
  std::sort(at.begin(), at.end());
  return at;
}

}  // namespace

TEST_CASE("cuda: random segments on every kernel", "[cuda][segmented]") {
  NEEDS_CUDA();
  Rng rng(8);
  std::vector<int> runs;
  for (int i = 0; i < repeats(60); ++i) {
    const Case &c = support::one_of(rng, cases);
    Sizes extents = random_extents(rng, 3000);
    if (extents.empty()) extents = {1};
    const int dim = int(support::pick(rng, 0, int64_t(extents.size()) - 1));
    const int64_t n = extents[size_t(dim)], segments = support::pick(rng, 1, 40);
    const auto at = random_offsets(rng, n, segments);
    const bool plain = support::chance(rng, 50), wide = support::chance(rng, 50);
    Tensor in(rng, c.in, extents, !plain, plain);
    in.fill([&] { return double(support::pick(rng, c.in == TCU_BOOL ? 0 : -4, c.in == TCU_BOOL ? 1 : 4)); });
    Tensor offsets(rng, wide ? TCU_INT64 : TCU_INT32, {segments + 1}, false, true);
    size_t next = 0;
    offsets.fill([&] { return double(at[next++]); });
    Sizes out_extents = extents;
    out_extents[size_t(dim)] = segments;
    Tensor out(rng, c.out, out_extents, false, plain);
    out.fill([] { return 1.0; });
    const oracle::Tensor x = in.values();
    std::vector<double> expected;
    support::for_each_index(out_extents, [&](const Sizes &index) {
      const int64_t s = index[size_t(dim)];
      double acc = oracle::identity(c.fold), best = -1e300;
      int64_t position = 0;
      Sizes from = index;
      for (int64_t k = at[size_t(s)]; k < at[size_t(s) + 1]; ++k) {
        from[size_t(dim)] = k;
        const double v = x.at(from);
        if (c.fold == oracle::Fold::argmax) {
          if (v > best) best = v, position = k - at[size_t(s)];
        } else {
          acc = oracle::combine(c.fold, acc, v);
        }
      }
      expected.push_back(c.fold == oracle::Fold::argmax ? double(position) : acc);
    });
    if (c.fold == oracle::Fold::min)  // an empty segment: the greatest int32
      for (double &e : expected) e = std::min(e, 2147483647.0);
    const tcu_tensor_t o = out.view(), v = in.view(), f = offsets.view();
    const tcu_options_t options = TCU_OPTIONS_INIT;
    on_every_kernel("segmented", out, expected, options, runs, in.text() + " along " + std::to_string(dim), [&](const tcu_options_t &with) {
      return tcu_segmented_reduce(context(), &o, c.op, nullptr, 1, &v, dim, &f, &with);
    });
  }
  report("segmented", runs);
}
