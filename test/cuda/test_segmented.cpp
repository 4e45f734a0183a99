// Segments on the cuda kernels against the oracle.
#include "api.h"
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

const Case statistics[] = {
    {TCU_REDUCE_VAR, oracle::Fold::var, TCU_FLOAT32, TCU_FLOAT32},   {TCU_REDUCE_MEAN, oracle::Fold::mean, TCU_FLOAT16, TCU_FLOAT32},
    {TCU_REDUCE_ARGMIN, oracle::Fold::argmin, TCU_FLOAT32, TCU_INT64}, {TCU_REDUCE_LOGSUMEXP, oracle::Fold::logsumexp, TCU_FLOAT32, TCU_FLOAT32},
};
// In the emulator those alone that are shipped and three more: each of the others costs it seconds to compile.
std::vector<Case> all_cases(bool with_statistics) {
  std::vector<Case> list(std::begin(cases), std::end(cases));
  if (api::emulated()) list = {cases[0], cases[3], cases[4], cases[7]};
  if (with_statistics) list.insert(list.end(), std::begin(statistics), api::emulated() ? std::begin(statistics) + 1 : std::end(statistics));
  return list;
}

// Cuts 0..n into segments, some of them empty.
std::vector<int64_t> random_offsets(Rng &rng, int64_t n, int64_t segments) {
  std::vector<int64_t> at{0};
  for (int64_t s = 1; s < segments; ++s) at.push_back(support::chance(rng, 25) ? at.back() : support::pick(rng, 0, n));
  at.push_back(n);
  std::sort(at.begin(), at.end());
  return at;
}

// What is read of offsets that may be wrong.
struct Bounds {
  int64_t begin, end;
};
Bounds bounds(const std::vector<int64_t> &at, size_t segment, int64_t n) {
  const int64_t begin = std::clamp<int64_t>(at[segment], 0, n);
  return {begin, std::clamp<int64_t>(at[segment + 1], begin, n)};
}

// One vector of n elements: its segments by every kernel. The elements of a statistic are no whole numbers.
void run_line(Rng &rng, const Case &c, int64_t n, const std::vector<int64_t> &at, bool plain, const std::string &name, std::vector<int> &runs) {
  const int64_t segments = int64_t(at.size()) - 1;
  const bool statistic = c.fold >= oracle::Fold::mean, arg = c.fold == oracle::Fold::argmax || c.fold == oracle::Fold::argmin;
  Tensor in(rng, c.in, {n}, !plain, plain), out(rng, c.out, {segments}, false, plain);
  Tensor offsets(rng, support::chance(rng, 50) ? TCU_INT64 : TCU_INT32, {segments + 1}, false, true);
  in.fill([&] {
    if (statistic) return 20 + double(rng() >> 11) * 0x1p-53;
    return double(support::pick(rng, c.in == TCU_BOOL ? 0 : -4, c.in == TCU_BOOL ? 1 : 4));
  });
  size_t next = 0;
  offsets.fill([&] { return double(at[next++]); });
  out.fill([&] { return c.out == TCU_BOOL ? 1.0 : 77.0; });
  tcu_options_t options = TCU_OPTIONS_INIT;
  tcu_scalar_t alpha{}, beta{};
  alpha.f = 2, beta.f = -1;
  const bool scaled = c.out == TCU_FLOAT32 && !statistic && !arg && support::chance(rng, 25);
  if (scaled) options.alpha = &alpha, options.beta = &beta;
  const oracle::Tensor x = in.values();
  std::vector<double> expected, allowed;
  for (size_t s = 0; s < size_t(segments); ++s) {
    const Bounds b = bounds(at, s, n);
    std::vector<double> elements;
    for (int64_t k = b.begin; k < b.end; ++k) elements.push_back(x.at({k}));
    double v;
    if (statistic) {
      v = oracle::statistic(c.fold, elements, 1);
      allowed.push_back(oracle::statistic_error(c.fold, elements, 1, 0x1p-24));
    } else if (arg) {
      v = elements.empty() ? 0 : oracle::reduce(c.fold, {oracle::Tensor({int64_t(elements.size())}, elements)}, {0})[0];
    } else {
      v = oracle::identity(c.fold);
      for (const double e : elements) v = oracle::combine(c.fold, v, e);
      if (c.fold == oracle::Fold::min) v = std::min(v, 2147483647.0);
    }
    expected.push_back(scaled ? 2 * v - 77 : v);
  }
  const tcu_tensor_t o = out.view(), v = in.view(), f = offsets.view();
  on_every_kernel("segmented", out, expected, options, runs, name + " " + in.text(), [&](const tcu_options_t &with) {
    return tcu_segmented_reduce(context(), &o, c.op, nullptr, 1, &v, 0, &f, &with);
  }, 0, allowed);
}

// Offsets of segments of these lengths, one after another, the first at `begin`.
std::vector<int64_t> of_lengths(const std::vector<int64_t> &lengths, int64_t begin = 0) {
  std::vector<int64_t> at{begin};
  for (const int64_t l : lengths) at.push_back(at.back() + l);
  return at;
}
std::vector<int64_t> equal_lengths(int64_t n, int64_t length) {
  std::vector<int64_t> lengths(size_t(n / length), length);
  if (n % length) lengths.push_back(n % length);
  return lengths;
}
std::vector<int64_t> joined(std::vector<int64_t> a, const std::vector<int64_t> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Shape {
  std::string name;
  int64_t n;  // elements; a segment may begin after the first and the last end before the last
  std::vector<int64_t> at;
};
std::vector<Shape> shapes(Rng &rng, int64_t n) {
  std::vector<Shape> list;
  const auto add = [&](const std::string &name, const std::vector<int64_t> &lengths) {
    const auto at = of_lengths(lengths);
    list.push_back({name, at.back(), at});
  };
  for (const int64_t length : {1, 2, 3, 7, 31, 32, 33, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025})
    add("equal " + std::to_string(length), equal_lengths(n, length));
  add("one", {n});
  add("one between small ones", joined(joined(equal_lengths(500, 3), {n}), equal_lengths(500, 2)));
  add("two", {n / 3, n - n / 3});
  std::vector<int64_t> power, around;
  for (int64_t k = 1, left = n; left > 0; ++k) power.push_back(std::min(left, std::max<int64_t>(1, n / (k * k * 2)))), left -= power.back();
  add("power law", power);
  for (size_t k = power.size(); k > 1; --k) std::swap(power[k - 1], power[rng() % k]);
  add("power law, shuffled", power);
  for (int64_t left = n; left > 0; left -= around.back()) around.push_back(std::min<int64_t>(left, 64 * support::pick(rng, 1, 8) + support::pick(rng, -1, 1)));
  add("around whole steps", around);
  const std::vector<int64_t> none(size_t(n / 2), 0), rows = equal_lengths(n / 2, 50);
  add("empty ones at the begin", joined(none, rows));
  add("empty ones in the middle", joined(joined(rows, none), rows));
  add("empty ones at the end", joined(rows, none));
  add("empty ones between", joined(joined(joined({0, 0}, {n / 2}), none), {n / 2, 0}));
  std::vector<int64_t> sparse;
  for (int64_t left = n / 2; left > 0; left -= sparse.back()) sparse.push_back(support::chance(rng, 60) ? 0 : std::min<int64_t>(left, support::pick(rng, 1, 5)));
  add("many empty ones", sparse);
  list.push_back({"only empty ones", n, std::vector<int64_t>(size_t(n / 2), n / 3)});
  list.push_back({"from the middle on", n, of_lengths(equal_lengths(n / 3, 77), n / 3)});
  list.push_back({"one from the middle on", n, {n / 5, n - 7}});
  return list;
}

// Offsets that fall, or lie outside.
std::vector<Shape> wrong_shapes(Rng &rng, int64_t n) {
  std::vector<Shape> list;
  const auto random = [&](int64_t segments, int64_t low, int64_t high) {
    std::vector<int64_t> at;
    for (int64_t s = 0; s <= segments; ++s) at.push_back(support::pick(rng, low, high));
    return at;
  };
  const auto outside = [&](int64_t segments) { return random(segments, -n, 2 * n); };
  list.push_back({"anything, few", n, outside(7)});
  list.push_back({"anything, many", n, outside(200)});  // each some tens of per cent of n, and all of them the oracle's work
  list.push_back({"inside, many", n, random(200, 0, n)});
  list.push_back({"all before", n, random(100, -n, -1)});
  list.push_back({"all after", n, random(100, n + 1, 2 * n)});
  std::vector<int64_t> falling = of_lengths(equal_lengths(n, std::max<int64_t>(n / 60, 1)));
  std::reverse(falling.begin(), falling.end());
  list.push_back({"falling", n, falling});
  for (const int64_t length : {3, 40, 700}) {
    std::vector<int64_t> at = of_lengths(equal_lengths(n, length));
    for (int i = 0; i < 4; ++i) std::swap(at[rng() % at.size()], at[rng() % at.size()]);
    list.push_back({"some swapped " + std::to_string(length), n, at});
    at = of_lengths(equal_lengths(n, length));
    at[rng() % at.size()] = support::pick(rng, -n, 2 * n);
    list.push_back({"one wrong " + std::to_string(length), n, at});
    at.back() = support::pick(rng, -n, n);
    list.push_back({"the last wrong " + std::to_string(length), n, at});
    at = of_lengths(equal_lengths(n, length));
    at[0] = support::pick(rng, 1, 2 * n);
    list.push_back({"the first wrong " + std::to_string(length), n, at});
    // A segment that runs back over all before it, and goes on to its end.
    at = of_lengths(equal_lengths(n, length));
    at[at.size() / 2] = support::pick(rng, 0, n / 4);
    list.push_back({"one back " + std::to_string(length), n, at});
  }
  return list;
}

// More elements than segmented.balanced wants, where it wants any.
int64_t balanced_size() { return api::emulated() ? 4000 : 70000; }

}  // namespace

TEST_CASE("cuda: random segments on every kernel", "[cuda][segmented]") {
  NEEDS_CUDA();
  Rng rng(8);
  std::vector<int> runs;
  const std::vector<Case> some = all_cases(false);
  for (int i = 0; i < repeats(60); ++i) {
    const Case c = some[rng() % some.size()];
    Sizes extents = support::chance(rng, 25) ? Sizes{support::pick(rng, 1, balanced_size())} : random_extents(rng, 3000);
    if (i == 0) extents = {balanced_size()};
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

TEST_CASE("cuda: segments of all lengths", "[cuda][segmented]") {
  NEEDS_CUDA();
  Rng rng(9);
  std::vector<int> runs;
  const std::vector<Case> all = all_cases(true);
  size_t turn = 0;
  for (const Shape &shape : shapes(rng, balanced_size()))
    for (int i = 0; i < 2; ++i)
      run_line(rng, i == 0 ? cases[0] : all[turn++ % all.size()], shape.n, shape.at, support::chance(rng, 70), shape.name, runs);
  for (const Shape &shape : shapes(rng, api::emulated() ? 16000 : 500000))  // many blocks
    if (shape.at.size() < 1000) run_line(rng, cases[0], shape.n, shape.at, true, shape.name, runs);
  for (const int64_t n : {2, 3, 31, 33, 1000})  // few elements and many segments
    run_line(rng, all[turn++ % all.size()], n, random_offsets(rng, n, balanced_size()), true, "few elements", runs);
  report("segmented", runs);
}

TEST_CASE("cuda: which kernel takes segments", "[cuda][segmented]") {
  NEEDS_CUDA();
  Rng rng(13);
  const auto chosen = [&](const Sizes &extents, int dim, int64_t segments) {
    Sizes folded = extents;
    folded[size_t(dim)] = segments;
    Tensor in(rng, TCU_FLOAT32, extents, false, true), out(rng, TCU_FLOAT32, folded, false, true), offsets(rng, TCU_INT32, {segments + 1}, false, true);
    const tcu_tensor_t o = out.view(), x = in.view(), f = offsets.view();
    tcu_plan_t plan = nullptr;
    tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
    OK(tcu_plan_segmented_reduce(&plan, context(), &o, TCU_REDUCE_SUM, nullptr, 1, &x, dim, &f, nullptr));
    OK(tcu_plan_info(plan, &info));
    OK(tcu_plan_destroy(plan));
    return std::string(info.kernel);
  };
  const int64_t n = balanced_size();
  CHECK(chosen({n}, 0, 5) == "segmented.balanced");
  CHECK(chosen({n, 1}, 0, 1) == "segmented.balanced");
  CHECK(chosen({1, 7}, 1, n) == "segmented.balanced");  // segments are work too
  CHECK(chosen({100}, 0, 5) == "segmented.general");    // a search is not worth while
  CHECK(chosen({n, 2}, 0, 5) == "segmented.general");   // another K mode
  CHECK(chosen({3, n}, 1, 1) == "segmented.general");
}

TEST_CASE("cuda: segments whose offsets are wrong", "[cuda][segmented]") {
  NEEDS_CUDA();
  Rng rng(10);
  std::vector<int> runs;
  for (const Shape &shape : wrong_shapes(rng, balanced_size()))
    for (const Case &c : {cases[0], cases[7]}) run_line(rng, c, shape.n, shape.at, support::chance(rng, 70), shape.name, runs);
  report("segmented", runs);
}

TEST_CASE("cuda: segments of a product of inputs, one of them broadcast", "[cuda][segmented]") {
  NEEDS_CUDA();
  Rng rng(11);
  const api::Expr product({api::input(0), api::input(1), api::op(TCU_OP_MUL)});
  std::vector<int> runs;
  for (const Shape &shape : shapes(rng, balanced_size()))
    for (const bool spread : {false, true}) {
      const int64_t segments = int64_t(shape.at.size()) - 1;
      const bool turned = support::chance(rng, 50);
      Tensor x(rng, TCU_FLOAT32, {shape.n}, false, true), y(rng, TCU_FLOAT32, {spread ? 1 : shape.n}, false, true);
      Tensor offsets(rng, TCU_INT32, {segments + 1}, false, true), out(rng, TCU_FLOAT32, {segments}, false, false);
      for (Tensor *t : {&x, &y}) t->fill([&] { return double(support::pick(rng, -3, 3)); });
      size_t next = 0;
      offsets.fill([&] { return double(shape.at[next++]); });
      out.fill([] { return 77.0; });
      const oracle::Tensor a = x.values(), b = y.values();
      std::vector<double> expected(size_t(segments), 0.0);
      for (size_t s = 0; s < expected.size(); ++s)
        for (int64_t k = shape.at[s]; k < shape.at[s + 1]; ++k) expected[s] += a.at({k}) * b.at({k});
      const tcu_tensor_t o = out.view(), f = offsets.view();
      const tcu_tensor_t in[] = {turned ? y.view() : x.view(), turned ? x.view() : y.view()};
      tcu_options_t options = TCU_OPTIONS_INIT;
      on_every_kernel("segmented", out, expected, options, runs, shape.name + (spread ? " broadcast" : ""), [&](const tcu_options_t &with) {
        return tcu_segmented_reduce(context(), &o, TCU_REDUCE_SUM, product.handle, 2, in, 0, &f, &with);
      });
    }
  report("segmented", runs);
}

TEST_CASE("cuda: segments have the same bits on every run, and on any stream's scratch", "[cuda][segmented]") {
  NEEDS_CUDA();
  Rng rng(12);
  const int64_t n = api::emulated() ? 8000 : 500000;
  const api::Stream stream;
  for (const char *kernel : {"segmented.general", "segmented.balanced"})
    for (const Shape &shape : shapes(rng, n)) {
      if (shape.name.rfind("equal", 0) == 0) continue;
      const int64_t segments = int64_t(shape.at.size()) - 1, ends = segments + 1;
      std::vector<float> values(static_cast<size_t>(shape.n));
      for (float &v : values) v = float(double(rng() >> 11) * 0x1p-53 - 0.5) * (support::chance(rng, 2) ? 1e6f : 1.0f);
      const api::Memory x(values), at(shape.at), out(size_t(segments) * 4);
      const tcu_tensor_t in{x.data, &shape.n, nullptr, TCU_FLOAT32, 1}, o{out.data, &segments, nullptr, TCU_FLOAT32, 1};
      const tcu_tensor_t offsets{at.data, &ends, nullptr, TCU_INT64, 1};
      tcu_options_t options = TCU_OPTIONS_INIT;
      options.kernel = kernel;
      std::vector<uint32_t> first;
      for (int i = 0; i < 4; ++i) {
        options.stream = i % 2 ? stream.handle : nullptr;
        INFO(kernel << " " << shape.name << " run " << i);
        OK(tcu_segmented_reduce(api::cuda(), &o, TCU_REDUCE_SUM, nullptr, 1, &in, 0, &offsets, &options));
        OK(tcu_synchronize(api::cuda(), options.stream));
        const auto now = out.get<uint32_t>(size_t(segments));
        if (i == 0) first = now;
        REQUIRE((now == first));
      }
    }
}
