// Reductions on the cuda kernels against the oracle.
#include "problems.h"

using namespace problems;
using tensors::Order;

namespace {

struct Case {
  tcu_reduce_op_t op;
  oracle::Fold fold;
  tcu_dtype_t in, out;
};
const Case cases[] = {
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT32, TCU_FLOAT32},   {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT16, TCU_FLOAT16},
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT64, TCU_FLOAT64},   {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_BFLOAT16, TCU_FLOAT32},
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_INT32, TCU_INT64},       {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_INT8, TCU_INT64},
    {TCU_REDUCE_MAX, oracle::Fold::max, TCU_FLOAT32, TCU_FLOAT32},   {TCU_REDUCE_MIN, oracle::Fold::min, TCU_FLOAT16, TCU_FLOAT16},
    {TCU_REDUCE_MAX, oracle::Fold::max, TCU_INT64, TCU_INT64},       {TCU_REDUCE_ARGMAX, oracle::Fold::argmax, TCU_FLOAT32, TCU_INT64},
    {TCU_REDUCE_ARGMAX, oracle::Fold::argmax, TCU_FLOAT16, TCU_INT64}, {TCU_REDUCE_ARGMAX, oracle::Fold::argmax, TCU_INT32, TCU_INT64},
    {TCU_REDUCE_COUNT, oracle::Fold::count, TCU_BOOL, TCU_INT64},    {TCU_REDUCE_ANY, oracle::Fold::any, TCU_BOOL, TCU_BOOL},
    {TCU_REDUCE_ALL, oracle::Fold::all, TCU_BOOL, TCU_BOOL},         {TCU_REDUCE_PROD, oracle::Fold::prod, TCU_FLOAT32, TCU_FLOAT32},
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT8_E4M3, TCU_FLOAT32},
    {TCU_REDUCE_MAX, oracle::Fold::max, TCU_FLOAT8_E5M2, TCU_FLOAT8_E5M2},
};
bool is_bool(const Case &c) { return c.in == TCU_BOOL; }

// order: of the input's modes in memory. scaled_per_cent: of sums those with alpha, most of them with beta.
void run_case(Rng &rng, const Case &c, const Sizes &extents, const std::vector<int32_t> &dims, bool plain, std::vector<int> &runs,
              Order order = Order::first, int scaled_per_cent = 25, const std::string &subject = "") {
  const Sizes kept = kept_of(extents, dims);
  const bool is_empty = std::any_of(dims.begin(), dims.end(), [&](int32_t d) { return extents[size_t(d)] == 0; });
  if (is_empty && c.op != TCU_REDUCE_SUM) return;
  Tensor in(rng, c.in, extents, !plain, plain, order), out(rng, c.out, kept, false, plain);
  const bool prod = c.op == TCU_REDUCE_PROD;
  in.fill([&]() -> double { return is_bool(c) ? support::chance(rng, 50) : prod ? (support::chance(rng, 50) ? 1 : -1) : double(support::pick(rng, -4, 4)); });
  tcu_options_t options = TCU_OPTIONS_INIT;
  tcu_scalar_t alpha{}, beta{};
  double a = 1, b = 0;
  const bool scaled = c.op == TCU_REDUCE_SUM && support::chance(rng, scaled_per_cent);
  std::vector<double> old;
  out.fill([&] { return double(old.emplace_back(c.out == TCU_BOOL ? 0 : double(support::pick(rng, -3, 3)))); });
  if (scaled) {
    a = 2, b = support::chance(rng, 60) ? -1 : 0;
    if (c.out == TCU_INT64) alpha.i = 2, beta.i = -1;
    else alpha.f = 2, beta.f = -1;
    options.alpha = &alpha, options.beta = b ? &beta : nullptr;
  }
  auto expected = oracle::reduce(c.fold, {in.values()}, dims);
  if (scaled)
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = a * expected[i] + b * old[i];
  const tcu_tensor_t o = out.view(), x = in.view();
  std::string text = std::string(tcu_reduce_op_name(c.op)) + " " + in.text() + " dims";
  for (int32_t d : dims) text += " " + std::to_string(d);
  on_every_kernel("reduce", out, expected, options, runs, text, [&](const tcu_options_t &with) {
    return tcu_reduce(context(), &o, c.op, nullptr, 1, &x, int32_t(dims.size()), dims.data(), &with);
  }, 0, {}, subject);
}

}  // namespace

TEST_CASE("cuda: random reductions on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(7);
  std::vector<int> runs;
  for (int i = 0; i < repeats(150); ++i) {
    const Sizes extents = random_extents(rng, 4096);
    std::vector<int32_t> dims;
    for (size_t m = 0; m < extents.size(); ++m)
      if (support::chance(rng, 50)) dims.push_back(int32_t(m));
    run_case(rng, support::one_of(rng, cases), extents, dims, support::chance(rng, 50), runs);
  }
  report("reduce", runs, {"reduce.copied", "reduce.turned", "reduce.split", "reduce.channels", "reduce.periods", "reduce.shifted", "reduce.flat", "reduce.tcu."});  // of which those below are asked
}

TEST_CASE("cuda: reductions whose results lie in another order, on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(70);
  std::vector<int> runs;
  const auto in_some_order = [&](const Case &c) {
    run_case(rng, c, {37, 3, 61}, {1}, true, runs, Order::reversed);
    run_case(rng, c, {64, 65, 2}, {2}, support::chance(rng, 50), runs, Order::reversed);
    run_case(rng, c, {5, 9, 2, 7, 11}, {2, 4}, support::chance(rng, 50), runs, Order::shuffled);
  };
  for (int i = 0; i < 2; ++i) run_case(rng, cases[i], {72, 3, 136}, {1}, true, runs, Order::reversed, 100);  // reduce.turned stores several at a time
  for (int i = 0; i < 8; ++i) run_case(rng, cases[i % 2], {37, 3, 61}, {1}, true, runs, Order::reversed, 100);  // alpha is the one launch's or the other's
  in_some_order(support::one_of(rng, cases));
  for_cases(rng, cases, in_some_order);
  report_of("reduce", runs, {"reduce.copied"});
}

TEST_CASE("cuda: reductions in parts on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(71);
  std::vector<int> runs;
  // what reduce.split takes: few outputs, many elements; one run, rows, rows read several as one, rows of single elements
  for_cases(rng, cases, [&](const Case &c) {
    run_case(rng, c, {40003}, {0}, support::chance(rng, 50), runs);
    run_case(rng, c, {33600}, {0}, true, runs);
    run_case(rng, c, {8, 4160}, {1}, true, runs);
    run_case(rng, c, {2, 16400}, {1}, true, runs);
    run_case(rng, c, {3, 11000}, {1}, false, runs);
    run_case(rng, c, {515, 140}, {1}, true, runs);
    // reduce.channels: a lane to a block of threads for each run, parts of it, runs that begin anywhere, several of them
    run_case(rng, c, {3, 171, 11}, {1}, true, runs);
    run_case(rng, c, {5, 31, 9}, {1}, support::chance(rng, 50), runs);
    run_case(rng, c, {3, 14003}, {1}, true, runs);
    run_case(rng, c, {17, 2000, 3}, {1}, true, runs);
    run_case(rng, c, {9, 560, 2, 3}, {1, 3}, true, runs);
    run_case(rng, c, {4, 2100, 2, 3}, {1, 3}, true, runs);
    run_case(rng, c, {8300, 3, 5}, {0, 2}, true, runs);
  });
  report_of("reduce", runs, {"reduce.split", "reduce.channels"});
}

TEST_CASE("cuda: reductions of tiles on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(72);
  std::vector<int> runs;
  for_cases(rng, cases, [&](const Case &c) {
    // reduce.tiles: all outputs of a step and some of them, in parts, several runs, more columns than threads, steps that begin anywhere
    run_case(rng, c, {7, 64, 333}, {0, 2}, true, runs);
    run_case(rng, c, {5, 3, 4001}, {0, 2}, support::chance(rng, 50), runs);
    run_case(rng, c, {49, 40, 61}, {0, 2}, true, runs);
    run_case(rng, c, {3, 250, 37, 2, 3}, {0, 2, 4}, true, runs);
    run_case(rng, c, {16, 96, 50}, {0, 2}, true, runs);
    run_case(rng, c, {9, 33, 20, 11}, {0, 2}, true, runs);
    run_case(rng, c, {2, 333, 41}, {0, 2}, true, runs);  // more outputs than threads
    // some of the outputs of steps that begin anywhere in 16 bytes: rows before them and none, words of two elements, several runs
    run_case(rng, c, {7, 333, 41}, {0, 2}, true, runs);
    run_case(rng, c, {6, 1001, 19, 3}, {0, 2}, support::chance(rng, 50), runs);
    run_case(rng, c, {1301, 37, 3, 5}, {1, 3}, true, runs);
    run_case(rng, c, {1099, 61}, {1}, true, runs);
  });
  for (int64_t k : {257, 500}) run_case(rng, cases[5], {2, k, 61}, {0, 2}, true, runs);  // of bytes on the emulated library too, whose tiles are small
  report_of("reduce", runs, {"reduce.tiles"});
}

TEST_CASE("cuda: reductions of tiles with outputs within a row, and of periods, on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(78);
  std::vector<int> runs;
  for_cases(rng, cases, [&](const Case &c) {
    // all rows of a step and some of them, several modes in a row and outside, more outputs than threads
    run_case(rng, c, {7, 7, 16, 130}, {1, 3}, true, runs);
    run_case(rng, c, {3, 5, 96, 33}, {1, 3}, support::chance(rng, 50), runs);
    run_case(rng, c, {5, 3, 2, 16, 40, 3}, {1, 3, 5}, false, runs);
    run_case(rng, c, {8, 2, 6, 48, 5, 2}, {1, 4}, true, runs);
    run_case(rng, c, {2, 3, 160, 51}, {1, 3}, true, runs);
    run_case(rng, c, {3, 5, 399, 33}, {1, 3}, true, runs);  // and steps that begin anywhere
    // reduce.periods: one R mode and two, tiles of several periods, periods that begin at the same banks
    run_case(rng, c, {3, 5, 1201}, {1}, true, runs);
    run_case(rng, c, {5, 3, 4, 601}, {0, 2}, true, runs);
    run_case(rng, c, {4, 3, 6, 301}, {0, 2}, true, runs);
    for (const auto &[k, n, periods] : {std::tuple{2, 64, 130}, {3, 64, 50}, {8, 21, 90}, {4, 333, 7}}) run_case(rng, c, {k, n, periods}, {1}, true, runs);
  });
  report_of("reduce", runs, {"reduce.tiles", "reduce.periods"});
}

TEST_CASE("cuda: short segments and rows that are no whole vectors on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(73);
  std::vector<int> runs;
  // short segments of whole vectors and not, and rows of them that are shorter than a block is wide
  for_cases(rng, cases, [&](const Case &c) {
    for (int64_t n : {8, 16, 48, 64, 256, 577, 1024}) run_case(rng, c, {n, 37}, {0}, true, runs);
    for (int64_t n : {1, 2, 3, 7, 31, 100}) run_case(rng, c, {n, 700}, {0}, true, runs);
    run_case(rng, c, {112, 5, 9}, {0, 2}, true, runs);
    run_case(rng, c, {3, 600, 5}, {0, 2}, true, runs);
  });
  // a segment more than tiles of 16 KiB have, and less than a vector; some of these begin on one
  for (const Case &c : {cases[0], cases[1], cases[5]})
    for (int i = 0; i < 3; ++i) run_case(rng, c, {3, 1024 / 3 * (16 / tcu_dtype_bytes(c.in)) + 1}, {0}, true, runs);
  // long ones, of tiles enough for blocks of fewer threads
  for (const Case &c : {cases[0], cases[10]}) run_case(rng, c, {577, api::emulated() ? 270 : 17000}, {0}, true, runs);
  // rows of eight vectors, so many that positions are found in shared memory, each row's vectors in an order of its own (on the emulator
  // a kernel takes one in three)
  for (const Case &c : {cases[9], cases[10]})
    for (int i = 0; i < (api::emulated() ? 3 : 1); ++i)
      run_case(rng, c, {128 / tcu_dtype_bytes(c.in), api::emulated() ? 515 : (1 << 19) + 3}, {0}, true, runs);
  // rows that are no whole vectors: half of one too many, in slabs and in two tiles; one element too many; none, in views
  for_cases(rng, cases, [&](const Case &c) {
    const int64_t v = 16 / tcu_dtype_bytes(c.in), row = 14 * v + v / 2, n = v < 16 ? 265 : 521;
    run_case(rng, c, {row, n, 2}, {1}, v == 16 || support::chance(rng, 70), runs);
    run_case(rng, c, {512 - 2 * v - v / 2, 33 * v}, {1}, true, runs);
    if (v < 16) run_case(rng, c, {14 * v + 1, 128 * v + 3}, {1}, true, runs);
    run_case(rng, c, {14 * v, n}, {1}, true, runs);
  });
  // what tensor cores take, where it begins at a multiple of 16 bytes: segments one after another and side by side, and one of all
  for (int i = 0; i < 16; ++i) {
    run_case(rng, cases[1], {64, 300}, {0}, true, runs);
    run_case(rng, cases[3], {64, 300}, {1}, true, runs);
    run_case(rng, cases[1], {40003}, {0}, true, runs);
  }
  report_of("reduce", runs, {"reduce.tiny", "reduce.small", "reduce.shifted", "reduce.tcu."});
}

TEST_CASE("cuda: NaN, infinities and ties in max, min, argmax, argmin", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(11);
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats(40); ++i) {
    const Case c = support::one_of(rng, std::vector<Case>{cases[6], cases[7], cases[9], cases[10], cases[17]});
    const Sizes extents = {support::pick(rng, 1, 70), support::pick(rng, 1, 9)};
    const std::vector<int32_t> dims = support::chance(rng, 50) ? std::vector<int32_t>{0} : std::vector<int32_t>{1};
    const Sizes kept = kept_of(extents, dims);
    Tensor in(rng, c.in, extents, false, support::chance(rng, 50)), out(rng, c.out, kept, false, true);
    const int nans = support::chance(rng, 50) ? 20 : 0;
    in.fill([&]() -> double { return support::chance(rng, nans) ? nan : support::chance(rng, 30) ? (support::chance(rng, 50) ? inf : -inf) : 1; });
    out.fill([] { return 0.0; });
    std::vector<int> runs;
    const tcu_tensor_t o = out.view(), x = in.view();
    tcu_options_t options = TCU_OPTIONS_INIT;
    on_every_kernel("reduce", out, oracle::reduce(c.fold, {in.values()}, dims), options, runs, in.text(), [&](const tcu_options_t &with) {
      return tcu_reduce(context(), &o, c.op, nullptr, 1, &x, 1, dims.data(), &with);
    });
  }
}

// What ranks lowest of all: an arg-reduction's identity is no better than any element.
TEST_CASE("cuda: argmax and argmin where every element is the least", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(12);
  const tcu_options_t options = TCU_OPTIONS_INIT;
  for (const bool least : {true, false}) {
    for (const Sizes &extents : {Sizes{9, 5}, Sizes{64, 3}, Sizes{20000, 1}, Sizes{16, 2600}}) {
      for (int32_t dim : {0, 1}) {
        const Sizes kept = kept_of(extents, {dim});
        Tensor in(rng, TCU_INT8, extents, false, true), out(rng, TCU_INT64, kept, false, true);
        in.fill([&] { return least ? -128.0 : 127.0; });
        out.fill([] { return 1.0; });
        std::vector<int> runs;
        const tcu_tensor_t o = out.view(), x = in.view();
        const std::vector<double> first(size_t(support::product(kept)), 0.0);
        on_every_kernel("reduce", out, first, options, runs, in.text(), [&](const tcu_options_t &with) {
          return tcu_reduce(context(), &o, least ? TCU_REDUCE_ARGMAX : TCU_REDUCE_ARGMIN, nullptr, 1, &x, 1, &dim, &with);
        });
      }
    }
  }
}

// Several elements are compared as one (device/keys.cuh): the best one stands at every place of a vector, of a round of vectors and of the rows
// beside each other, is met again, and may be NaN or a zero.
TEST_CASE("cuda: the first best of 8- and 16-bit elements", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(19);
  const tcu_options_t options = TCU_OPTIONS_INIT;
  struct Shape {
    Sizes extents;
    std::vector<int32_t> dims;
  };
  const Shape shapes[] = {{{1024, 33}, {0}}, {{512, 40}, {0}}, {{64, 70}, {0}}, {{16, 90}, {0}}, {{1000, 21}, {0}}, {{17, 300}, {0}}, {{577, 40}, {0}}, {{34, 90}, {0}},
                          {{2048, 9}, {0}}, {{128, 50}, {0}}, {{24, 70}, {0}}, {{4099, 3}, {0}},
                          {{33600}, {0}},    {{40003}, {0}},   {{64, 5, 9}, {0, 2}}, {{48, 333}, {1}}, {{700, 60}, {1}}, {{49, 24, 61}, {0, 2}}, {{5, 400, 3, 7}, {1, 3}}};
  const tcu_dtype_t types[] = {TCU_INT8, TCU_UINT8, TCU_INT16, TCU_UINT16, TCU_FLOAT16, TCU_BFLOAT16};
  std::vector<int> runs;
  for (tcu_dtype_t dtype : types) {
    if (api::emulated() && dtype != TCU_INT8 && dtype != TCU_FLOAT16) continue;  // functions that it would have to compile
    for_cases(rng, shapes, [&](const Shape &shape) {
      const bool greatest = api::emulated() ? dtype == TCU_INT8 : support::chance(rng, 50), is_float = dtype == TCU_FLOAT16 || dtype == TCU_BFLOAT16;
      const Sizes kept = kept_of(shape.extents, shape.dims);
      Tensor in(rng, dtype, shape.extents, false, true), out(rng, TCU_INT64, kept, false, true);
      const double bits = dtype == TCU_INT8 || dtype == TCU_UINT8 ? 256 : 65536, least = dtype == TCU_INT8 || dtype == TCU_INT16 ? -bits / 2 : 0;
      const int most = int(support::pick(rng, 0, 3));  // of how many kinds the elements are
      const double special[] = {0.0, -0.0, INFINITY, -INFINITY, 1.0, -1.5, std::nan("")}, whole[] = {least, least + bits - 1, least + bits / 2, least + 3};
      const int nans = support::chance(rng, 30) ? 1 : 0, few = int(support::pick(rng, 0, 3));
      in.fill([&]() -> double {
        if (support::chance(rng, nans)) return is_float ? special[6] : whole[most];
        if (is_float) return few == 0 ? special[support::pick(rng, 0, 1)] : few == 1 ? special[support::pick(rng, 2, 5)] : double(support::pick(rng, -120, 120));
        return few == 0 ? whole[support::pick(rng, 0, most)] : least + double(support::pick(rng, 0, int(bits) - 1));
      });
      out.fill([] { return 1.0; });
      const tcu_tensor_t o = out.view(), x = in.view();
      const auto expected = oracle::reduce(greatest ? oracle::Fold::argmax : oracle::Fold::argmin, {in.values()}, shape.dims);
      on_every_kernel("reduce", out, expected, options, runs, in.text(), [&](const tcu_options_t &with) {
        return tcu_reduce(context(), &o, greatest ? TCU_REDUCE_ARGMAX : TCU_REDUCE_ARGMIN, nullptr, 1, &x, int32_t(shape.dims.size()), shape.dims.data(), &with);
      });
    });
  }
}

// These are folded four in a word (device/bytes.cuh), so every value of a byte comes at every place in one.
TEST_CASE("cuda: sums and extrema of bytes of any value", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(14);
  const tcu_options_t options = TCU_OPTIONS_INIT;
  struct Shape {
    Sizes extents;
    std::vector<int32_t> dims;
  };
  std::vector<Shape> shapes = {{{33600}, {0}}, {{40003}, {0}}, {{64, 5, 9}, {0, 2}}, {{32, 700}, {1}}, {{16, 2100}, {1}}, {{232, 37}, {1}}};
  for (int64_t n : {1, 2, 3, 7, 9, 33}) shapes.push_back({{4096, n}, {1}});
  for (int64_t n : {4, 16, 64, 100, 1040, 4112}) shapes.push_back({{n, 37}, {0}});
  std::vector<int> runs;
  for (tcu_dtype_t dtype : {TCU_INT8, TCU_UINT8})
    for (const Case &c : {Case{TCU_REDUCE_SUM, oracle::Fold::sum, dtype, TCU_INT64}, Case{TCU_REDUCE_MAX, oracle::Fold::max, dtype, dtype},
                          Case{TCU_REDUCE_MIN, oracle::Fold::min, dtype, dtype}})
      for_cases(rng, shapes, [&](const Shape &shape) {
        const Sizes kept = kept_of(shape.extents, shape.dims);
        Tensor in(rng, dtype, shape.extents, false, true), out(rng, c.out, kept, false, true);
        const int64_t least = dtype == TCU_INT8 ? -128 : 0, from = least + support::pick(rng, 0, 255);
        const int64_t to = support::chance(rng, 50) ? least + 255 : from;  // or all equal
        in.fill([&] { return double(support::pick(rng, int(from), int(to))); });
        out.fill([] { return 1.0; });
        const tcu_tensor_t o = out.view(), x = in.view();
        on_every_kernel("reduce", out, oracle::reduce(c.fold, {in.values()}, shape.dims), options, runs, in.text(), [&](const tcu_options_t &with) {
          return tcu_reduce(context(), &o, c.op, nullptr, 1, &x, int32_t(shape.dims.size()), shape.dims.data(), &with);
        });
      });
}

// More parts than one thread reads, parts that take turns, and long rows of which there are fewer than parts.
TEST_CASE("cuda: reductions in many parts", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(15);
  struct Shape {
    Sizes extents;
    std::vector<int32_t> dims;
    int64_t gap;     // between rows
    size_t folds = 4;
  };
  const Case folds[] = {cases[0], cases[2], cases[9], {TCU_REDUCE_MAX, oracle::Fold::max, TCU_FLOAT16, TCU_FLOAT16}};
  const int64_t n = api::emulated() ? 1 : repeats(6);  // times the length: a device has so many more blocks than the emulator
  const int64_t turns = api::emulated() ? 1 : repeats(33);
  const Shape shapes[] = {{{32, 4130 * turns}, {1}, 0, 1}, {{2, 66000 * n}, {1}, 0}, {{16, 8300 * n}, {1}, 0}, {{128, 1040 * n}, {1}, 0},
                          {{36, 3700 * n}, {1}, 0}, {{33001 * n, 2}, {0, 1}, 3}, {{20000 * n, 2, 3}, {0, 2}, 1}, {{9000 * n, 5}, {0, 1}, 2}};
  std::vector<int> runs;
  for (const Shape &shape : shapes)
    for (const Case &c : std::vector<Case>(folds, folds + shape.folds)) {
      if (shape.folds > 1 && !is_chosen(rng)) continue;
      const Sizes kept = kept_of(shape.extents, shape.dims);
      Sizes room = shape.extents;
      room[0] += shape.gap;
      Tensor in(rng, c.in, room, false, true), out(rng, c.out, kept, false, true);
      in.narrow(0, shape.extents[0]);
      in.fill([&] { return double(support::pick(rng, -4, 4)); });
      out.fill([] { return 1.0; });
      const tcu_options_t options = TCU_OPTIONS_INIT;
      const tcu_tensor_t o = out.view(), x = in.view();
      on_every_kernel("reduce", out, oracle::reduce(c.fold, {in.values()}, shape.dims), options, runs, in.text(), [&](const tcu_options_t &with) {
        return tcu_reduce(context(), &o, c.op, nullptr, 1, &x, int32_t(shape.dims.size()), shape.dims.data(), &with);
      });
    }
}

// Many elements of one output, none beside another: every second one, or a column of each of several.
TEST_CASE("cuda: reductions of views with gaps are cut into parts", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(15);
  std::vector<int> runs;
  const struct {
    Sizes whole;
    std::vector<int32_t> dims;
  } views[] = {{{2, 30011}, {1}}, {{3, 13001, 5}, {1}}, {{5, 203, 101}, {1, 2}}};
  for (const auto &view : views)
    for (tcu_reduce_op_t op : {TCU_REDUCE_SUM, TCU_REDUCE_MAX, TCU_REDUCE_ARGMAX}) {
      Tensor in(rng, TCU_FLOAT32, view.whole, false, true);
      in.narrow(0, 1);
      in.fill([&] { return double(support::pick(rng, -99, 99)); });
      const Sizes kept = kept_of(in.extents, view.dims);
      Tensor out(rng, op == TCU_REDUCE_ARGMAX ? TCU_INT64 : TCU_FLOAT32, kept, false, true);
      out.fill([] { return 1.0; });
      const tcu_tensor_t o = out.view(), x = in.view();
      tcu_options_t options = TCU_OPTIONS_INIT;
      tcu_plan_t plan = nullptr;
      tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
      REQUIRE(tcu_plan_reduce(&plan, context(), &o, op, nullptr, 1, &x, int32_t(view.dims.size()), view.dims.data(), &options) == TCU_OK);
      REQUIRE(tcu_plan_info(plan, &info) == TCU_OK);
      CHECK(std::string(info.kernel) == "reduce.split");  // a block for all of 2^24 took 15 ms (H200)
      REQUIRE(tcu_plan_destroy(plan) == TCU_OK);
      const auto fold = op == TCU_REDUCE_SUM ? oracle::Fold::sum : op == TCU_REDUCE_MAX ? oracle::Fold::max : oracle::Fold::argmax;
      on_every_kernel("reduce", out, oracle::reduce(fold, {in.values()}, view.dims), options, runs, in.text(), [&](const tcu_options_t &with) {
        return tcu_reduce(context(), &o, op, nullptr, 1, &x, int32_t(view.dims.size()), view.dims.data(), &with);
      });
    }
}

// Inputs of which one is read in vectors and another, whose rows begin anywhere, or which is the same all along a row (gap 0), is not.
TEST_CASE("cuda: reductions of products of rows that begin anywhere", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(13);
  tcu_node_t nodes[3] = {};
  nodes[0].kind = TCU_NODE_INPUT, nodes[1].kind = TCU_NODE_INPUT, nodes[1].index = 1;
  nodes[2].kind = TCU_NODE_OP, nodes[2].index = TCU_OP_MUL;
  tcu_expr_t expr = nullptr;
  REQUIRE(tcu_expr_create(&expr, nodes, 3) == TCU_OK);
  const tcu_options_t options = TCU_OPTIONS_INIT;
  std::vector<int> runs;
  // -1: none; 0: the second factor is the same along a row
  for (int64_t gap : api::emulated() ? std::vector<int64_t>{-1, 0, 1} : std::vector<int64_t>{-1, 0, 1, 2, 4})
    for (const Sizes &extents : {Sizes{64, 9, 5}, Sizes{67, 31, 3}, Sizes{7, 11, 40}, Sizes{3, 700, 2}, Sizes{16, 2100, 2}, Sizes{5, 6, 16, 40}})
      for (const std::vector<int32_t> &dims : {std::vector<int32_t>{1}, {0}, {0, 2}, {1, 2}, {1, 3}}) {
        if (dims.back() >= int32_t(extents.size())) continue;
        const Sizes kept = kept_of(extents, dims);
        Sizes room = extents;
        room[0] = gap > 0 ? room[0] + gap : gap == 0 ? 1 : room[0];
        if (gap == 0 && room.size() > 3) room[3] = 1;
        const bool swapped = support::chance(rng, 50);
        Tensor a(rng, TCU_FLOAT32, extents, false, true), out(rng, TCU_FLOAT32, kept, false, true);
        Tensor b(rng, gap < 0 ? TCU_FLOAT32 : TCU_FLOAT16, room, false, true);
        if (gap > 0) b.narrow(0, extents[0]);
        for (Tensor *t : {&a, &b}) t->fill([&] { return double(support::pick(rng, -4, 4)); });
        out.fill([] { return 1.0; });
        const tcu_tensor_t o = out.view(), x[] = {swapped ? b.view() : a.view(), swapped ? a.view() : b.view()};
        const auto product = [](const std::vector<double> &v) { return v[0] * v[1]; };
        on_every_kernel("reduce", out, oracle::reduce(oracle::Fold::sum, {a.values(), b.values()}, dims, product), options, runs, b.text(),
                        [&](const tcu_options_t &with) {
                          return tcu_reduce(context(), &o, TCU_REDUCE_SUM, expr, 2, x, int32_t(dims.size()), dims.data(), &with);
                        });
      }
  tcu_expr_destroy(expr);
}

// reduce.flat: factors that come again every so many elements, or stay for as many, of rows shorter than a vector and longer; outputs whose first
// element begins anywhere, and such as have no whole vector; in parts and not.
TEST_CASE("cuda: reductions of products with factors that come again, on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(78);
  const api::Expr expr({api::input(0), api::input(1), api::op(TCU_OP_MUL)});
  const struct {
    tcu_reduce_op_t op;
    oracle::Fold fold;
    int32_t first, second, out;
    double relative = 0;
  } kinds[] = {{TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT32, TCU_FLOAT32, TCU_FLOAT32}, {TCU_REDUCE_MAX, oracle::Fold::max, TCU_FLOAT16, TCU_FLOAT16, TCU_FLOAT16},
               {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT16, TCU_FLOAT32, TCU_FLOAT32}, {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_INT8, TCU_INT8, TCU_INT64},
               {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT64, TCU_FLOAT64, TCU_FLOAT64}, {TCU_REDUCE_VAR, oracle::Fold::var, TCU_FLOAT32, TCU_FLOAT32, TCU_FLOAT32, 5e-5}};
  const struct {
    Sizes extents, second;
    std::vector<int32_t> dims;
  } shapes[] = {{{5, 3000}, {5, 1}, {0, 1}},         {{5, 3001}, {1, 3001}, {0, 1}},          {{3, 7, 130, 2}, {1, 7, 1, 2}, {0, 1, 2}},
                {{109, 40, 3}, {109, 1, 1}, {0, 1}}, {{37, 5, 11}, {37, 1, 11}, {0, 1}},       {{2, 2, 9}, {2, 1, 9}, {0, 1}},
                {{2, 3, 2, 2, 1201}, {1, 3, 1, 2, 1}, {0, 1, 2, 3, 4}}, {{33, 6, 5, 2}, {33, 1, 5, 1}, {0, 1, 2}}};
  std::vector<int> runs;
  for (const auto &shape : shapes)
    for (size_t kind = 0; kind < std::size(kinds); ++kind) {
      const auto &c = kinds[kind];
      if (api::emulated() && kind > 1 && !support::chance(rng, 40)) continue;
      const bool swapped = support::chance(rng, 30);
      Tensor a(rng, c.first, shape.extents, false, true), b(rng, c.second, shape.second, false, true);
      Tensor out(rng, c.out, kept_of(shape.extents, shape.dims), false, true);
      for (Tensor *t : {&a, &b}) t->fill([&] { return double(support::pick(rng, -4, 4)); });
      out.fill([] { return 1.0; });
      const tcu_tensor_t o = out.view(), x[] = {swapped ? b.view() : a.view(), swapped ? a.view() : b.view()};
      const auto product = [](const std::vector<double> &v) { return v[0] * v[1]; };
      const auto expected = c.op == TCU_REDUCE_VAR ? oracle::statistics(c.fold, {a.values(), b.values()}, shape.dims, 1, product)
                                                   : oracle::reduce(c.fold, {a.values(), b.values()}, shape.dims, product);
      on_every_kernel("reduce", out, expected, TCU_OPTIONS_INIT, runs, b.text(),
                      [&](const tcu_options_t &with) {
                        return tcu_reduce(context(), &o, c.op, expr.handle, 2, x, int32_t(shape.dims.size()), shape.dims.data(), &with);
                      }, c.relative, {}, "reduce.flat");
    }
  report_of("reduce", runs, {"reduce.flat"});
}

// reduce.abreast: rows read whole and in the last round's part, two, three and four at once; ends of the tensor, and of rows within it; one reduced mode
// and several, and warps whose outputs follow each other, all of them or not.
TEST_CASE("cuda: reductions of few rows that begin anywhere, on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(76);
  std::vector<int> runs;
  const auto all = [&](const Case &c) {
    const auto run = [&](const Sizes &extents, const std::vector<int32_t> &dims, bool plain = true, Order order = Order::first) {
      run_case(rng, c, extents, dims, plain, runs, order, 25, "reduce.abreast");
    };
    for (const int64_t rows : {2, 3, 4, 5, 7, 8}) run({133, rows, 3}, {1});
    run({1045, 3}, {1});
    run({77, 3, 4, 2}, {1, 3});
    for (const int64_t rows : {3, 9}) run({67, rows, 5}, {1}, false);
    run({67, 5, 9}, {1}, true, Order::reversed);
  };
  for (const int c : {5, 10}) all(cases[c]);  // bytes, and positions of float16: the others on the emulator by chance
  for_cases(rng, cases, all);
  report_of("reduce", runs, {"reduce.abreast"});
}

// The same with many rows, which threads and parts share: whole rounds and the ends of them, within one reduced mode and from one index of the next on.
TEST_CASE("cuda: reductions of many rows that begin anywhere in several modes, on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(77);
  std::vector<int> runs;
  const auto all = [&](const Case &c) {
    const auto run = [&](const Sizes &extents, const std::vector<int32_t> &dims, bool plain = true, Order order = Order::first) {
      run_case(rng, c, extents, dims, plain, runs, order, 25, "reduce.abreast");
    };
    run({133, 3, 2, 60}, {1, 3});
    run({37, 5, 2, 33}, {1, 3}, false);
    run({67, 330}, {1}, false);
    run({19, 2, 3, 7, 2, 9}, {1, 3, 5}, true, Order::reversed);
    run({1045, 9, 2, 13}, {1, 3});
  };
  for (const int c : {5, 10}) all(cases[c]);
  for_cases(rng, cases, all);
  report_of("reduce", runs, {"reduce.abreast"});
}

// reduce.turned: tiles with ends along both modes, rows that are whole vectors and that are none, both modes reduced, one, or a third; in parts, and
// with an input that is the same all along the fastest mode.
TEST_CASE("cuda: reductions of inputs that lie across each other, on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(75);
  std::vector<int> runs;
  tcu_node_t nodes[5] = {};
  for (int k = 0; k < 3; ++k) nodes[k].kind = TCU_NODE_INPUT, nodes[k].index = k;
  nodes[3].kind = nodes[4].kind = TCU_NODE_OP, nodes[3].index = TCU_OP_MUL, nodes[4].index = TCU_OP_SUB;
  tcu_expr_t expr = nullptr;  // a - b c
  REQUIRE(tcu_expr_create(&expr, nodes, 5) == TCU_OK);
  const oracle::Function f = [](const std::vector<double> &x) { return x[0] - x[1] * x[2]; };
  const Case folds[] = {{TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT32, TCU_FLOAT32},       {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT16, TCU_FLOAT32},
                        {TCU_REDUCE_ARGMAX, oracle::Fold::argmax, TCU_FLOAT32, TCU_INT64},   {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_INT8, TCU_INT64},
                        {TCU_REDUCE_MIN, oracle::Fold::min, TCU_FLOAT64, TCU_FLOAT64},       {TCU_REDUCE_ARGMIN, oracle::Fold::argmin, TCU_INT16, TCU_INT32},
                        {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_BFLOAT16, TCU_BFLOAT16}, {TCU_REDUCE_VAR, oracle::Fold::var, TCU_FLOAT32, TCU_FLOAT32}};
  enum { kSum, kHalves, kPosition, kBytes, kWide, kShort, kBrief, kVariance };
  const struct {
    Sizes extents;
    std::vector<int32_t> dims;
    std::vector<int> emulated;  // the folds that the emulator has time for
    Order second = Order::reversed;
  } shapes[] = {{{72, 136}, {1}, {kSum, kVariance}},
                {{72, 136}, {0}, {kBytes}},
                {{72, 136}, {0, 1}, {kPosition, kShort, kBrief}},
                {{67, 33}, {0}, {kHalves}},
                {{37, 70}, {0, 1}, {kHalves, kPosition}},
                {{40, 3, 72}, {1}, {kShort}},
                {{35, 3, 41}, {1}, {kWide}},
                {{70, 5, 36, 2}, {0, 3}, {kSum}},
                {{16, 2500}, {1}, {kSum}},
                {{72, 136, 3}, {1, 2}, {kSum, kSum, kSum, kSum}, Order::shuffled}};  // of the reduced modes b is the first, in some
  const auto run = [&](const Case &c, const Sizes &extents, const std::vector<int32_t> &dims, Order second) {
    Sizes row(extents.size(), 1);
    row[1] = extents[1];
    Tensor a(rng, c.in, extents, false, true), b(rng, c.in, extents, false, true, second), r(rng, c.in, row, false, true);
    Tensor out(rng, c.out, kept_of(extents, dims), false, true, support::chance(rng, 50) ? Order::first : Order::reversed);
    for (Tensor *t : {&a, &b, &r}) t->fill([&] { return double(support::pick(rng, -4, 4)); });
    out.fill([] { return 1.0; });
    const tcu_tensor_t o = out.view(), x[] = {a.view(), b.view(), r.view()};
    std::string text = std::string(tcu_reduce_op_name(c.op)) + " a - b c, " + a.text() + b.text() + " dims";
    for (int32_t d : dims) text += " " + std::to_string(d);
    const tcu_options_t options = TCU_OPTIONS_INIT;
    const std::vector<oracle::Tensor> from{a.values(), b.values(), r.values()};
    const bool exact = c.fold != oracle::Fold::var;
    const auto expected = exact ? oracle::reduce(c.fold, from, dims, f) : oracle::statistics(c.fold, from, dims, 1, f);
    const auto allowed = exact ? std::vector<double>{} : oracle::statistic_errors(c.fold, from, dims, 1, 0x1p-24, f);
    on_every_kernel("reduce", out, expected, options, runs, text, [&](const tcu_options_t &with) {
      return tcu_reduce(context(), &o, c.op, expr, 3, x, int32_t(dims.size()), dims.data(), &with);
    }, 0, allowed, "reduce.turned");
  };
  for (const auto &[extents, dims, emulated, second] : shapes) {
    if (!api::emulated())
      for (const Case &c : folds) run(c, extents, dims, second);
    else
      for (int c : emulated) run(folds[c], extents, dims, second);
  }
  tcu_expr_destroy(expr);
  report_of("reduce", runs, {"reduce.turned"});
}
