// Scans on the cuda kernels against the oracle.
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
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT32, TCU_FLOAT32}, {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT16, TCU_FLOAT16},
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT64, TCU_FLOAT64}, {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_INT32, TCU_INT64},
    {TCU_REDUCE_MAX, oracle::Fold::max, TCU_FLOAT32, TCU_FLOAT32}, {TCU_REDUCE_MIN, oracle::Fold::min, TCU_BFLOAT16, TCU_BFLOAT16},
    {TCU_REDUCE_PROD, oracle::Fold::prod, TCU_FLOAT32, TCU_FLOAT32}, {TCU_REDUCE_MAX, oracle::Fold::max, TCU_INT64, TCU_INT64},
};
// What is shipped, and what is compiled at run time.
const Case shipped[] = {
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT32, TCU_FLOAT32},    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT16, TCU_FLOAT16},
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_BFLOAT16, TCU_BFLOAT16},  {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT64, TCU_FLOAT64},
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_INT32, TCU_INT64},        {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_INT64, TCU_INT64},
    {TCU_REDUCE_MAX, oracle::Fold::max, TCU_FLOAT32, TCU_FLOAT32},    {TCU_REDUCE_MAX, oracle::Fold::max, TCU_FLOAT16, TCU_FLOAT16},
    {TCU_REDUCE_MAX, oracle::Fold::max, TCU_BFLOAT16, TCU_BFLOAT16},  {TCU_REDUCE_MAX, oracle::Fold::max, TCU_FLOAT64, TCU_FLOAT64},
    {TCU_REDUCE_MAX, oracle::Fold::max, TCU_INT32, TCU_INT32},        {TCU_REDUCE_MAX, oracle::Fold::max, TCU_INT64, TCU_INT64},
};
const Case products_and_minima[] = {
    {TCU_REDUCE_PROD, oracle::Fold::prod, TCU_FLOAT32, TCU_FLOAT32},  {TCU_REDUCE_PROD, oracle::Fold::prod, TCU_FLOAT16, TCU_FLOAT16},
    {TCU_REDUCE_PROD, oracle::Fold::prod, TCU_BFLOAT16, TCU_BFLOAT16}, {TCU_REDUCE_PROD, oracle::Fold::prod, TCU_FLOAT64, TCU_FLOAT64},
    {TCU_REDUCE_PROD, oracle::Fold::prod, TCU_INT32, TCU_INT64},      {TCU_REDUCE_PROD, oracle::Fold::prod, TCU_INT64, TCU_INT64},
    {TCU_REDUCE_MIN, oracle::Fold::min, TCU_FLOAT32, TCU_FLOAT32},    {TCU_REDUCE_MIN, oracle::Fold::min, TCU_FLOAT16, TCU_FLOAT16},
    {TCU_REDUCE_MIN, oracle::Fold::min, TCU_BFLOAT16, TCU_BFLOAT16},  {TCU_REDUCE_MIN, oracle::Fold::min, TCU_FLOAT64, TCU_FLOAT64},
    {TCU_REDUCE_MIN, oracle::Fold::min, TCU_INT32, TCU_INT32},        {TCU_REDUCE_MIN, oracle::Fold::min, TCU_INT64, TCU_INT64},
};
const Case narrow[] = {
    {TCU_REDUCE_MAX, oracle::Fold::max, TCU_INT8, TCU_INT8}, {TCU_REDUCE_MIN, oracle::Fold::min, TCU_INT16, TCU_INT16},
    {TCU_REDUCE_MAX, oracle::Fold::max, TCU_UINT8, TCU_UINT8}, {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_INT8, TCU_INT64},
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT8_E5M2, TCU_FLOAT8_E5M2},
    {TCU_REDUCE_MIN, oracle::Fold::min, TCU_FLOAT8_E4M3, TCU_FLOAT8_E4M3},
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT8_E4M3, TCU_FLOAT32},
};

std::vector<double> scan(oracle::Fold op, const Sizes &extents, const oracle::Tensor &in, const oracle::Scan &how, double start) {
  return oracle::scan_lines(extents, {in}, how, start, [op](double acc, const std::vector<double> &x) {
    return std::pair(acc, oracle::combine(op, acc, x[0]));
  });
}

// Compiled at run time, beside `narrow`: logical ones, and results that are stored as something else.
const Case others[] = {
    {TCU_REDUCE_MAX, oracle::Fold::max, TCU_BOOL, TCU_BOOL},       {TCU_REDUCE_MIN, oracle::Fold::min, TCU_BOOL, TCU_BOOL},
    {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT16, TCU_FLOAT32}, {TCU_REDUCE_SUM, oracle::Fold::sum, TCU_BOOL, TCU_INT64},
    {TCU_REDUCE_PROD, oracle::Fold::prod, TCU_INT16, TCU_FLOAT64}, {TCU_REDUCE_MAX, oracle::Fold::max, TCU_UINT64, TCU_UINT64},
};

// gap: elements between the input's rows, and rows between its planes. order: of the input's modes in memory.
void run_case(Rng &rng, const Case &c, const Sizes &extents, int dim, bool plain, std::vector<int> &runs, int64_t gap = 0,
              Order order = Order::first) {
  const bool in_place = gap == 0 && order == Order::first && c.in == c.out && support::chance(rng, 20);
  Sizes room = extents;
  for (size_t d = 0; gap && d + 1 < room.size(); ++d) room[d] += gap;
  Tensor in(rng, c.in, room, !plain && !in_place, plain, order);
  for (size_t d = 0; gap && d + 1 < room.size(); ++d) in.narrow(int(d), extents[d]);
  std::unique_ptr<Tensor> other = in_place ? nullptr : std::make_unique<Tensor>(rng, c.out, extents, false, plain);
  Tensor &out = in_place ? in : *other;
  const bool prod = c.op == TCU_REDUCE_PROD;
  if (other) other->fill([] { return 1.0; });
  in.fill([&]() -> double { return prod ? (support::chance(rng, 50) ? 1 : -1) : double(support::pick(rng, -4, 4)); });
  tcu_options_t options = TCU_OPTIONS_INIT;
  oracle::Scan how{dim, support::chance(rng, 30), support::chance(rng, 30)};
  options.scan_flags = (how.exclusive ? TCU_SCAN_EXCLUSIVE : 0) | (how.reverse ? TCU_SCAN_REVERSE : 0);
  tcu_scalar_t init{}, alpha{}, beta{};
  double start = oracle::identity(c.fold);
  const bool whole = c.in < TCU_FLOAT16;  // what it accumulates in is an integer
  if (c.op == TCU_REDUCE_SUM ? support::chance(rng, 30) : how.exclusive) {
    start = 3;
    if (whole) init.i = 3;
    else init.f = 3;
    options.init = &init;
  }
  auto expected = scan(c.fold, extents, in.values(), how, start);
  if (c.out != TCU_BOOL && support::chance(rng, 20)) {
    if (whole) alpha.i = 2;
    else alpha.f = 2;
    options.alpha = &alpha;
    for (double &e : expected) e *= 2;
  }
  if (c.out != TCU_BOOL && other && support::chance(rng, 15)) {
    if (whole) beta.i = 3;
    else beta.f = 3;
    options.beta = &beta;
    for (double &e : expected) e += 3;
  }
  const tcu_tensor_t o = out.view(), x = in.view();
  const std::string text = std::string(tcu_reduce_op_name(c.op)) + " " + in.text() + " along " + std::to_string(dim) +
                           (how.exclusive ? " exclusive" : "") + (how.reverse ? " reverse" : "") + (in_place ? " in place" : "");
  on_every_kernel("scan", out, expected, options, runs, text, [&](const tcu_options_t &with) {
    return tcu_scan(context(), &o, c.op, nullptr, 1, &x, dim, &with);
  });
}

}  // namespace

TEST_CASE("cuda: random scans on every kernel", "[cuda][scan]") {
  NEEDS_CUDA();
  Rng rng(5);
  std::vector<int> runs;
  for (int i = 0; i < repeats(120); ++i) {
    const Sizes extents = random_extents(rng, 2100);
    run_case(rng, support::one_of(rng, cases), extents, int(support::pick(rng, 0, std::max<int64_t>(int64_t(extents.size()) - 1, 0))),
             support::chance(rng, 50), runs);
  }
  // what scan.lookback takes: a line of several tiles
  for (int k : {1, 2}) for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, {support::pick(rng, 8200, 20000), k}, 0, true, runs); });
  // lines that begin anywhere in 16 bytes
  for (int64_t gap : {1, 2, 3})
    for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, {support::pick(rng, 8200, 20000), 2}, 0, true, runs, gap); });
  for (const Case &c : narrow) run_case(rng, c, {16500, 2}, 0, true, runs);
  report_of("scan", runs, {"scan.cluster", "scan.lookback", "scan.lines", "scan.general"});
}

// Lines whose elements alternate: long ones, in one group or several that begin anywhere in 16 bytes, and groups of which a tile has several.
TEST_CASE("cuda: scans of interleaved lines, on every kernel", "[cuda][scan]") {
  NEEDS_CUDA();
  Rng rng(15);
  std::vector<int> runs;
  const std::vector<int64_t> all = {2, 3, 4, 5, 6, 7, 8, 9}, some = {2, 3, 8};
  for (int64_t lines : api::emulated() ? some : all)
    for_cases(rng, cases, [&](const Case &c) {
      const int64_t steps = support::pick(rng, 16500, 24000) / lines;
      run_case(rng, c, {lines, steps}, 1, support::chance(rng, 80), runs);
      run_case(rng, c, {lines, steps, 2}, 1, support::chance(rng, 80), runs);
      run_case(rng, c, {lines, support::pick(rng, 12, 900), support::pick(rng, 3, 20)}, 1, support::chance(rng, 80), runs);
    });
  for (int64_t lines : {2, 3})
    for_cases(rng, narrow, [&](const Case &c) {
      run_case(rng, c, {lines, 33000 / lines}, 1, true, runs);
      run_case(rng, c, {lines, support::pick(rng, 12, 900), 5}, 1, true, runs);
    });
  for (const Case &c : others) run_case(rng, c, {2, 16500}, 1, true, runs);
  report_of("scan", runs, {"scan.interleaved", "scan.columns"});
}

TEST_CASE("cuda: scans of lines side by side, on every kernel", "[cuda][scan]") {
  NEEDS_CUDA();
  Rng rng(16);
  std::vector<int> runs;
  // what scan.columns takes: few and long
  for_cases(rng, cases, [&](const Case &c) {
    run_case(rng, c, {40, 1100}, 1, true, runs);
    run_case(rng, c, {3, 8300}, 1, true, runs);
    run_case(rng, c, {200, 300}, 1, true, runs);  // strips of tiles that hand on what comes before the next
    run_case(rng, c, {24, 120, 9}, 1, true, runs);
  });
  // enough of them for vectors across: along few steps and along more than a block takes at once
  const bool emulated = std::getenv("TCUOPS_TEST_GPU") == nullptr;
  const int64_t lines = emulated ? 1032 : 34000;  // a multiple of 8
  for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, {lines, 3}, 1, true, runs); });
  for (int64_t gap : {1, 2}) for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, {lines, 3}, 1, true, runs, gap); });
  for (const Case &c : {cases[0], cases[1], cases[3]}) run_case(rng, c, {lines, emulated ? 70 : 150}, 1, true, runs);
  for_cases(rng, narrow, [&](const Case &c) { run_case(rng, c, {lines, 3}, 1, true, runs); });
  for_cases(rng, narrow, [&](const Case &c) { run_case(rng, c, {3, 8300}, 1, true, runs); });
  // parts of rows that begin anywhere, in one tile and in several, a row after another and with a gap between
  for (const Sizes &extents : {emulated ? Sizes{301, 70} : Sizes{1001, 900}, emulated ? Sizes{601, 11, 3} : Sizes{1501, 60, 3}})
    for (int64_t gap : {0, 16})
      for (const Case &c : {cases[0], cases[1], narrow[0]}) run_case(rng, c, extents, 1, true, runs, gap);
  // rows that a tile has whole, of more columns than a block has threads too; and one that is much
  for (int64_t wide : {135, 191})
    for_cases(rng, narrow, [&](const Case &c) { run_case(rng, c, {wide, emulated ? 70 : 1500}, 1, true, runs); });
  for (const Sizes &extents : {Sizes{191, emulated ? 70 : 300}, emulated ? Sizes{101, 14, 9} : Sizes{101, 60, 40}})
    for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, extents, 1, true, runs); });
  run_case(rng, cases[0], emulated ? Sizes{301, 70, 9} : Sizes{301, 720, 28}, 1, true, runs);
  // many strips of several tiles: of very long rows, and of whole rows
  for (const Sizes &extents : {emulated ? Sizes{4200, 24} : Sizes{66000, 130}, emulated ? Sizes{128, 40, 34} : Sizes{128, 130, 520}})
    for (const Case &c : {cases[0], cases[1]}) run_case(rng, c, extents, 1, true, runs);
  report_of("scan", runs, {"scan.short", "scan.columns", "scan.general"});
}

TEST_CASE("cuda: scans of short lines, on every kernel", "[cuda][scan]") {
  NEEDS_CUDA();
  Rng rng(17);
  std::vector<int> runs;
  // of whole vectors and not
  for (int64_t n : {2, 7, 16, 40, 256}) for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, {n, 67}, 0, true, runs); });
  // and of more tiles of scan.tiles than one, whole numbers of 16 and of 128 bytes and not
  for (const Sizes &extents : {Sizes{3, 5001}, {16, 1700}, {25, 1100}, {104, 300}, {1001, 33}, {3001, 7}, {16001, 2}})
    for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, extents, 0, true, runs); });
  // groups of short lines side by side, in several tiles of scan.staged: of whole vectors and not, one group a tile, one alone
  for (const Sizes &extents : {Sizes{2, 8, 300}, {3, 7, 211}, {5, 51, 40}, {11, 2, 333}, {6, 40}})
    for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, extents, 1, true, runs); });
  for_cases(rng, narrow, [&](const Case &c) { run_case(rng, c, {3, 5, 700}, 1, true, runs); });
  report_of("scan", runs, {"scan.tiles", "scan.staged", "scan.lines", "scan.general"});
}

// Of an input's rows, after which some elements are left out: lines of several tiles, in words of 4 bytes and not, of which the first and the last of a
// tile are no whole one.
TEST_CASE("cuda: scans of lines that lie apart, on every kernel", "[cuda][scan]") {
  NEEDS_CUDA();
  Rng rng(18);
  std::vector<int> runs;
  for (int64_t gap : {1, 2})
    for (const Sizes &extents : {Sizes{3, 4001}, {10, 1700}, {104, 300}, {1001, 33}}) {
      for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, extents, 0, true, runs, gap); });
      run_case(rng, support::one_of(rng, narrow), extents, 0, true, runs, gap);
    }
  for (const Case &c : {narrow[1], Case{TCU_REDUCE_SUM, oracle::Fold::sum, TCU_FLOAT16, TCU_FLOAT16}})  // sixteen words of a thread at once
    run_case(rng, c, {1001, api::emulated() ? 33 : 2903}, 0, true, runs, 2);
  // whose rows lie along several modes, in some views in another order than the output's
  for (const Sizes &extents : {Sizes{3, 61, 66}, {16, 17, 71}, {104, 9, 30}, {5, 6, 7, 50}}) {
    for (int64_t gap : {0, 1})
      for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, extents, 0, true, runs, gap, gap ? Order::first : Order::shuffled); });
    run_case(rng, support::one_of(rng, narrow), extents, 0, true, runs, 2);
  }
  // what a block copies at a time is whole lines, to an output that begins anywhere
  for (const Sizes &extents : {Sizes{16, 700}, {8, 1100}})
    for (int i = 0; i < 4; ++i) run_case(rng, narrow[0], extents, 0, true, runs, 1);
  report_of("scan", runs, {"scan.tiles", "scan.lines", "scan.general"});
}

TEST_CASE("cuda: scans of inputs that lie across out, on every kernel", "[cuda][scan]") {
  NEEDS_CUDA();
  Rng rng(15);
  std::vector<int> runs;
  // an input that is contiguous along the lines where out is across: lines of whole pieces of 16 bytes and not, shorter than 128, and longer
  // than what a block has at once
  for (const Sizes &extents : {Sizes{33, 400}, {37, 133}, {70, 16}, {9, 2100}})
    for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, extents, 1, true, runs, 0, Order::reversed); });
  // and the other way round, lines side by side in whole pieces of 16 bytes and not
  for (const Sizes &extents : {Sizes{400, 48}, {133, 37}, {260, 16}, {2100, 16}})
    for_cases(rng, cases, [&](const Case &c) { run_case(rng, c, extents, 0, true, runs, 0, Order::reversed); });
  for_cases(rng, narrow, [&](const Case &c) { run_case(rng, c, {300, 32}, 0, true, runs, 0, Order::reversed); });
  run_case(rng, {TCU_REDUCE_MAX, oracle::Fold::max, TCU_INT64, TCU_INT8}, {300, 32}, 0, true, runs, 0, Order::reversed);
  report_of("scan", runs, {"scan.turned", "scan.copied"});
}

// 1250, and 22 on the emulated library; TCU_TEST_SCALE=800: 10,000, more than seven minutes on an H100; TCU_TEST_SEED: others. Mostly
// small ones; what has to be compiled is one in ten on a GPU, and none on the emulated library.
TEST_CASE("cuda: many random scans on every kernel", "[cuda][scan]") {
  NEEDS_CUDA();
  Rng rng(8);
  std::vector<int> runs;
  const int problems = repeats(api::emulated() ? 100 : 1250);
  for (int i = 0; i < problems; ++i) {
    const bool is_large = support::chance(rng, 1), is_long = support::chance(rng, api::emulated() ? 1 : 3);
    const int64_t most = api::emulated() ? 20000 : 200000;
    Sizes extents = random_extents(rng, is_large ? most : 600);
    if (is_long) extents = {support::pick(rng, 8200, support::chance(rng, 10) ? most : 20000), support::pick(rng, 1, 2)};
    const int dim = is_long ? 0 : int(support::pick(rng, 0, std::max<int64_t>(int64_t(extents.size()) - 1, 0)));
    Case c = support::one_of(rng, shipped);
    if (!api::emulated() && support::chance(rng, 40)) c = support::one_of(rng, products_and_minima);
    if (!api::emulated() && support::chance(rng, 10))
      c = support::chance(rng, 40) ? support::one_of(rng, narrow) : support::one_of(rng, others);
    run_case(rng, c, extents, dim, support::chance(rng, 50), runs);
  }
  std::string told = std::to_string(problems) + " random scans:";
  const auto names = kernels("scan");
  for (size_t k = 0; k < runs.size(); ++k) told += " " + (k ? names[k] : "planner") + " " + std::to_string(runs[k]);
  WARN(told);
}

TEST_CASE("cuda: scans of no elements", "[cuda][scan]") {
  NEEDS_CUDA();
  Rng rng(9);
  std::vector<int> runs;
  for (const Case &c : cases)
    for (const Sizes &extents : {Sizes{0}, {0, 3}, {3, 0}, {2, 0, 5}, {0, 0}})
      for (int dim = 0; dim < int(extents.size()); ++dim)
        for (const bool plain : {true, false}) run_case(rng, c, extents, dim, plain, runs);
}

// One line of more tiles (of 3328 elements at most) than are looked back for at once: 128, and 16 on the emulated library; and two
// lines side by side of more tiles (of 2304 steps at most) than that.
TEST_CASE("cuda: scans of more tiles than one look-back", "[cuda][scan]") {
  NEEDS_CUDA();
  Rng rng(6);
  const bool emulated = std::getenv("TCUOPS_TEST_GPU") == nullptr;
  const struct {
    int64_t lines, tiles;
  } shapes[] = {{1, emulated ? 70 : 2200}, {2, emulated ? 11 : 700}};
  for (const auto &shape : shapes) {
    const Sizes extents{shape.lines, shape.tiles * 2048 + 77};
    Tensor in(rng, TCU_FLOAT64, extents, false, true), out(rng, TCU_FLOAT64, extents, false, true);
    in.fill([&] { return double(support::pick(rng, -4, 4)); });
    out.fill([] { return 0.0; });
    const tcu_tensor_t o = out.view(), v = in.view();
    std::vector<int> runs;
    tcu_options_t options = TCU_OPTIONS_INIT;
    on_every_kernel("scan", out, scan(oracle::Fold::sum, extents, in.values(), {1, false, false}, 0), options, runs, in.text(),
                    [&](const tcu_options_t &with) {
                      return tcu_scan(context(), &o, TCU_REDUCE_SUM, nullptr, 1, &v, 1, &with);
                    });
  }
}

// Each of two streams is given more scratch as it needs more (lib/cuda/scratch.h), and what it had stays right.
TEST_CASE("cuda: scans of two streams that need more scratch, and less, and more", "[cuda][scan]") {
  NEEDS_CUDA();
  Rng rng(21);
  const api::Stream one, other;
  for (int64_t lines : {40, 5000, 40, 12000, 5000}) {
    const int64_t steps = api::emulated() ? 40 : 1500, extents[] = {lines, steps};
    std::vector<int32_t> values(size_t(lines * steps));
    for (int32_t &v : values) v = int32_t(support::pick(rng, -9, 9));
    std::vector<int32_t> expected = values;
    for (size_t i = size_t(lines); i < expected.size(); ++i) expected[i] += expected[i - size_t(lines)];
    const api::Memory x(values), y(values.size() * 4), z(values.size() * 4);
    const tcu_tensor_t in{x.data, extents, nullptr, TCU_INT32, 2};
    tcu_options_t options = TCU_OPTIONS_INIT;
    options.kernel = "scan.columns";
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (const api::Memory *to : {&y, &z}) {
        const tcu_tensor_t out{to->data, extents, nullptr, TCU_INT32, 2};
        options.stream = to == &y ? one.handle : other.handle;
        OK(tcu_scan(api::cuda(), &out, TCU_REDUCE_SUM, nullptr, 1, &in, 1, &options));
      }
      for (const api::Stream *stream : {&one, &other}) OK(tcu_synchronize(api::cuda(), stream->handle));
      INFO(lines << " lines, repeat " << repeat);
      REQUIRE((y.get<int32_t>(values.size()) == expected));
      REQUIRE((z.get<int32_t>(values.size()) == expected));
    }
  }
}

// Long lines, few of them, of which an input is contiguous along the line and out is not, and the other way round.
TEST_CASE("cuda: long scans between tensors that are turned against each other", "[cuda][scan]") {
  NEEDS_CUDA();
  Rng rng(14);
  std::vector<int> runs;
  const struct {
    Sizes extents;
    int dim;
  } shapes[] = {{{5, 9001}, 1}, {{3, 4, 2500}, 2}, {{17000, 3}, 0}};
  for (const auto &shape : shapes)
    for (tcu_dtype_t type : {TCU_FLOAT32, TCU_INT16})
      for (const oracle::Scan &how : {oracle::Scan{shape.dim, false, false}, oracle::Scan{shape.dim, true, true}}) {
        Tensor in(rng, type, shape.extents, false, true, shape.dim > 0 ? Order::reversed : Order::first);
        Tensor out(rng, TCU_FLOAT64, shape.extents, false, true, shape.dim == 0 ? Order::reversed : Order::first);
        in.fill([&] { return double(support::pick(rng, -4, 4)); });
        out.fill([] { return 0.0; });
        const tcu_tensor_t o = out.view(), v = in.view();
        tcu_options_t options = TCU_OPTIONS_INIT;
        options.scan_flags = (how.exclusive ? TCU_SCAN_EXCLUSIVE : 0) | (how.reverse ? TCU_SCAN_REVERSE : 0);
        tcu_plan_t plan = nullptr;
        tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
        REQUIRE(tcu_plan_scan(&plan, context(), &o, TCU_REDUCE_SUM, nullptr, 1, &v, shape.dim, &options) == TCU_OK);
        REQUIRE(tcu_plan_info(plan, &info) == TCU_OK);
        // scan.general takes 78 times as long for 5 lines of 201355 (H200)
        const std::string row = info.kernel;
        CHECK((row == "scan.lookback" || row == "scan.cluster"));
        REQUIRE(tcu_plan_destroy(plan) == TCU_OK);
        on_every_kernel("scan", out, scan(oracle::Fold::sum, shape.extents, in.values(), how, 0), options, runs, in.text(),
                        [&](const tcu_options_t &with) {
                          return tcu_scan(context(), &o, TCU_REDUCE_SUM, nullptr, 1, &v, shape.dim, &with);
                        });
      }
}

// A scan of a + b + c from inputs of different widths, each of which scan.lookback copies to shared memory in words of its own.
TEST_CASE("cuda: scans of expressions over several inputs", "[cuda][scan]") {
  NEEDS_CUDA();
  Rng rng(7);
  const auto node = [](int32_t kind, int32_t index) {
    tcu_node_t n{};
    n.kind = kind, n.index = index;
    return n;
  };
  const tcu_node_t nodes[] = {node(TCU_NODE_INPUT, 0), node(TCU_NODE_INPUT, 1), node(TCU_NODE_OP, TCU_OP_ADD), node(TCU_NODE_INPUT, 2),
                              node(TCU_NODE_OP, TCU_OP_ADD)};
  tcu_expr_t expr = nullptr;
  REQUIRE(tcu_expr_create(&expr, nodes, 5) == TCU_OK);
  const tcu_dtype_t types[][3] = {{TCU_FLOAT32, TCU_FLOAT16, TCU_BOOL}, {TCU_FLOAT64, TCU_INT8, TCU_INT32}};
  std::vector<int> runs;
  for (const auto &in : types)
    for (const int i : {0, 1, 2, 3, 4, 5, 6, 7, 8}) {
      const bool plain = i % 2 == 0 || i == 7;
      const int dim = i == 8 ? 1 : i / 2 % 2;  // along a line, across few, along short lines, across many, across groups, across two
      const int64_t n = support::pick(rng, 8200, 12000);
      const Sizes extents = i == 8 ? Sizes{2, n} : i == 7 ? Sizes{5, 9, n / 45} : i == 6 ? Sizes{n / 16 * 8, 9} : i >= 4 ? Sizes{n / 50, 60} : dim == 0 ? Sizes{n, 2} : Sizes{3, n};
      std::vector<std::unique_ptr<Tensor>> inputs;
      std::vector<tcu_tensor_t> views;
      for (const tcu_dtype_t d : in) {
        inputs.push_back(std::make_unique<Tensor>(rng, d, extents, !plain, plain));
        inputs.back()->fill([&] { return double(support::pick(rng, 0, 1)); });
        views.push_back(inputs.back()->view());
      }
      Tensor out(rng, in[0], extents, false, plain);
      out.fill([] { return 1.0; });
      oracle::Tensor sum{extents, support::dense(extents), {}, 0};
      support::for_each_index(extents, [&](const Sizes &i) {
        double x = 0;
        for (const auto &t : inputs) x += decode(t->dtype, t->at(i));
        sum.data.push_back(x);
      });
      const tcu_tensor_t o = out.view();
      tcu_options_t options = TCU_OPTIONS_INIT;
      on_every_kernel("scan", out, scan(oracle::Fold::sum, extents, sum, {dim, false, false}, 0), options, runs, inputs[0]->text(),
                      [&](const tcu_options_t &with) {
                        return tcu_scan(context(), &o, TCU_REDUCE_SUM, expr, 3, views.data(), dim, &with);
                      });
    }
  tcu_expr_destroy(expr);
  report("scan", runs, {"scan.tcu.", "scan.copied", "scan.turned"});  // those of tensor cores take one input as it is
}
