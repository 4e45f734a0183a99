// Second results, and a map's third and fourth (options.second) on the cuda kernels: each against the oracle of its own, from one call.
#include "problems.h"

using namespace problems;
using tensors::Order;

namespace {

using oracle::Fold;

struct Case {
  tcu_reduce_op_t op;
  Fold first, second;
  tcu_dtype_t in, out, second_out;
};
const Case cases[] = {
    {TCU_REDUCE_EXTREMA, Fold::min, Fold::max, TCU_FLOAT32, TCU_FLOAT32, TCU_FLOAT32},
    {TCU_REDUCE_ARGMAX, Fold::argmax, Fold::max, TCU_FLOAT16, TCU_INT64, TCU_FLOAT16},
    {TCU_REDUCE_VAR, Fold::var, Fold::mean, TCU_FLOAT32, TCU_FLOAT64, TCU_FLOAT32},
    {TCU_REDUCE_ARGMIN, Fold::argmin, Fold::min, TCU_INT8, TCU_INT64, TCU_INT8},
    {TCU_REDUCE_SUMEXP, Fold::sumexp, Fold::max, TCU_BFLOAT16, TCU_FLOAT32, TCU_FLOAT32},
    {TCU_REDUCE_LOGSUMEXP, Fold::logsumexp, Fold::max, TCU_FLOAT32, TCU_FLOAT32, TCU_FLOAT16},
    {TCU_REDUCE_EXTREMA, Fold::min, Fold::max, TCU_INT32, TCU_INT64, TCU_INT32},
    {TCU_REDUCE_STD, Fold::std, Fold::mean, TCU_FLOAT64, TCU_FLOAT64, TCU_FLOAT64},
};
// Each kernel of a case is compiled at run time, which takes the emulator's compiler seconds.
int n_cases() { return api::emulated() ? 2 : int(std::size(cases)); }

double number(Rng &rng, tcu_dtype_t d) { return double(support::pick(rng, -40, 40)) / (d == TCU_INT8 || d == TCU_INT32 ? 1 : 8); }
double eps_of(const Case &c) { return c.in == TCU_FLOAT64 ? 0x1p-52 : 0x1p-23; }

std::vector<double> expected_of(Fold fold, const oracle::Tensor &in, const std::vector<int32_t> &dims) {
  return fold >= Fold::mean ? oracle::statistics(fold, {in}, dims, 1) : oracle::reduce(fold, {in}, dims);
}
std::vector<double> allowed_of(const Case &c, Fold fold, const oracle::Tensor &in, const std::vector<int32_t> &dims) {
  if (fold < Fold::mean) return {};
  return oracle::statistic_errors(fold, {in}, dims, 1, eps_of(c));
}

// `second` holds `expected`, and every other byte of it is as it was.
void check(const Tensor &second, const std::vector<double> &expected, const std::vector<double> &allowed) {
  const auto now = second.download();
  auto want = second.bytes;
  size_t n = 0, wrong = 0;
  std::string first;
  support::for_each_index(second.extents, [&](const Sizes &i) {
    const size_t at = size_t(base_of(second, i));
    const double y = decode(second.dtype, now.data() + at), x = rounded(second.dtype, expected[n]);
    const double far = allowed.empty() ? 0 : allowed[n] + stored_error(second.dtype, x);
    if (!(y == x || (y != y && x != x) || std::abs(y - x) <= far) && wrong++ == 0)
      first = second.text() + ": result " + std::to_string(n) + " is " + std::to_string(y) + ", not " + std::to_string(x);
    ++n, std::memcpy(want.data() + at, now.data() + at, second.size);
  });
  INFO(first);
  REQUIRE(wrong == 0);
  REQUIRE((want == now));
}

void run_case(Rng &rng, const Case &c, const Sizes &extents, const std::vector<int32_t> &dims, bool plain, std::vector<int> &runs,
              Order order = Order::first) {
  const Sizes kept = kept_of(extents, dims);
  Tensor in(rng, c.in, extents, !plain, plain, order), out(rng, c.out, kept, false, plain);
  Tensor second(rng, c.second_out, out);
  in.fill([&] { return number(rng, c.in); });
  out.fill([] { return 1.0; });
  second.fill([] { return 1.0; });
  const oracle::Tensor values = in.values();
  const auto expected = expected_of(c.second, values, dims), allowed = allowed_of(c, c.second, values, dims);
  const tcu_tensor_t o = out.view(), x = in.view(), s = second.view();
  tcu_options_t options = TCU_OPTIONS_INIT;
  options.second = &s;
  std::string text = std::string(tcu_reduce_op_name(c.op)) + " with a second " + in.text() + " dims";
  for (int32_t d : dims) text += " " + std::to_string(d);
  on_every_kernel("reduce", out, expected_of(c.first, values, dims), options, runs, text, [&](const tcu_options_t &with) {
    second.upload();
    const tcu_status_t status = tcu_reduce(context(), &o, c.op, nullptr, 1, &x, int32_t(dims.size()), dims.data(), &with);
    if (status == TCU_OK) check(second, expected, allowed);
    return status;
  }, 0, allowed_of(c, c.first, values, dims));
}

}  // namespace

TEST_CASE("cuda: second results on every kernel", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(61);
  std::vector<int> runs;
  for (int i = 0; i < repeats(30); ++i) {
    Sizes extents = random_extents(rng, 4096);
    for (int64_t &n : extents) n = std::max<int64_t>(n, 1);
    std::vector<int32_t> dims;
    for (size_t m = 0; m < extents.size(); ++m)
      if (support::chance(rng, 50)) dims.push_back(int32_t(m));
    run_case(rng, cases[i % n_cases()], extents, dims, support::chance(rng, 50), runs);
  }
  for (int i = 0; i < 6; ++i) run_case(rng, cases[0], {3, 5, 1201}, {1}, true, runs);  // reduce.periods, of those that begin at 16 bytes
  for (int i = 0; i < n_cases(); ++i) {  // those of test_reduce.cpp that are split, and the short ones
    run_case(rng, cases[i], {40003}, {0}, false, runs);
    run_case(rng, cases[i], {33600}, {0}, true, runs);
    run_case(rng, cases[i], {8, 4160}, {1}, true, runs);
    run_case(rng, cases[i], {515, 140}, {1}, true, runs);
    run_case(rng, cases[i], {3, 600, 5}, {0, 2}, true, runs);
    run_case(rng, cases[i], {115, 1540}, {1}, true, runs);
    for (int64_t n : {1, 3, 8, 48, 64, 256}) run_case(rng, cases[i], {n, 37}, {0}, true, runs);
    run_case(rng, cases[i], {72, 3, 136}, {1}, true, runs, Order::reversed);  // reduce.turned
    run_case(rng, cases[i], {133, 7, 3}, {1}, true, runs);                    // reduce.abreast
  }
  report("reduce", runs, {"reduce.copied", "reduce.flat", "reduce.tcu."});  // flat: of several inputs
}

TEST_CASE("cuda: two, three and four results of maps on every kernel", "[cuda][broadcast]") {
  NEEDS_CUDA();
  Rng rng(64);
  std::vector<int> runs;
  const tcu_node_t x0{TCU_NODE_INPUT, 0, 0, 0, {}}, x1{TCU_NODE_INPUT, 1, 0, 0, {}};
  const auto op = [](tcu_op_t o) { return tcu_node_t{TCU_NODE_OP, o, 0, 0, {}}; };
  // The results, and what they are.
  const std::vector<tcu_node_t> nodes[] = {{x0, x1, op(TCU_OP_ADD)}, {x0, x1, op(TCU_OP_MUL)}, {x0, x1, op(TCU_OP_SUB)}, {x1}};
  double (*const values[])(const std::vector<double> &) = {
      [](const std::vector<double> &v) { return v[0] + v[1]; }, [](const std::vector<double> &v) { return v[0] * v[1]; },
      [](const std::vector<double> &v) { return v[0] - v[1]; }, [](const std::vector<double> &v) { return v[1]; }};
  const auto made = [&](int results) {
    std::vector<tcu_node_t> all;
    for (int i = 0; i < results; ++i) all.insert(all.end(), nodes[i].begin(), nodes[i].end());
    tcu_expr_t expr = nullptr;
    OK(tcu_expr_create(&expr, all.data(), int32_t(all.size())));
    return std::unique_ptr<tcu_expr, decltype(&tcu_expr_destroy)>(expr, tcu_expr_destroy);
  };
  const std::unique_ptr<tcu_expr, decltype(&tcu_expr_destroy)> exprs[] = {made(2), made(3), made(4)};
  // Of inputs and out, and of the others: as wide, narrower, wider.
  const tcu_dtype_t types[][TCU_MAX_RESULTS] = {{TCU_FLOAT32, TCU_FLOAT32, TCU_FLOAT64, TCU_INT8},
                                                {TCU_FLOAT32, TCU_FLOAT16, TCU_FLOAT32, TCU_FLOAT32},
                                                {TCU_FLOAT16, TCU_FLOAT64, TCU_FLOAT16, TCU_FLOAT8_E4M3}};
  int results = 1;  // of the next problem: one more than of the last
  // out, the two inputs (a mode of extent 1 is broadcast), the order of the last one's modes, and how often.
  const struct {
    Sizes out, in[2];
    bool plain;
    Order last;
    int times;
    bool both = false;  // whether the first input's are in that order, too
  } shapes[] = {
      {{30011}, {{30011}, {30011}}, true, Order::first, 12},       // broadcast.flat, where all begin alike
      {{31, 257}, {{31, 257}, {31, 1}}, true, Order::first, 2},    // rows that are no whole vectors
      {{3, 257}, {{3, 257}, {3, 1}}, true, Order::first, 3},      // rows shorter than a vector
      {{31, 257}, {{31, 1}, {1, 257}}, true, Order::first, 2},     // the outer product of such
      {{64, 257}, {{64, 257}, {1, 257}}, true, Order::first, 2},   // rows that are
      {{128, 96}, {{128, 1}, {128, 96}}, true, Order::first, 2},
      {{130, 65}, {{130, 65}, {130, 65}}, true, Order::reversed, 2},   // transposed
      {{33, 65}, {{33, 65}, {33, 65}}, true, Order::reversed, 2, true},
      {{272, 3}, {{272, 3}, {272, 3}}, true, Order::reversed, 2},      // pixels of three channels to planes
      {{3, 272}, {{3, 272}, {3, 272}}, true, Order::reversed, 2},      // and back
      {{65, 3, 33}, {{65, 3, 33}, {65, 1, 33}}, false, Order::first, 6},
      {{1027}, {{1027}, {1}}, false, Order::first, 6},
  };
  for (const auto &shape : shapes)
    for (int i = 0; i < (api::emulated() ? (shape.times + 1) / 2 : repeats(4 * shape.times)); ++i) {
      const auto &type = types[size_t(support::pick(rng, 0, 2))];
      Tensor x(rng, type[0], shape.in[0], false, shape.plain, shape.both ? shape.last : Order::first), y(rng, type[0], shape.in[1], false, shape.plain, shape.last);
      Tensor out(rng, type[0], shape.out, false, shape.plain);
      for (Tensor *t : {&x, &y}) t->fill([&] { return double(support::pick(rng, -4, 4)); });
      out.fill([] { return 99.0; });
      const std::vector<oracle::Tensor> inputs{x.values(), y.values()};
      results = results % 4 ? results + 1 : 2;
      std::vector<std::unique_ptr<Tensor>> more;
      std::vector<tcu_tensor_t> views;
      std::vector<std::vector<double>> expected;
      std::string text = x.text() + " " + y.text();
      for (int k = 1; k < results; ++k) {
        more.push_back(std::make_unique<Tensor>(rng, type[k], out));
        more.back()->fill([] { return 99.0; });
        views.push_back(more.back()->view()), text += " and " + more.back()->text();
        expected.push_back(oracle::map(shape.out, inputs, values[k]));
      }
      const tcu_tensor_t o = out.view(), in[] = {x.view(), y.view()};
      tcu_options_t options = TCU_OPTIONS_INIT;
      options.second = views.data(), options.n_second = results - 1;
      on_every_kernel("broadcast", out, oracle::map(shape.out, inputs, values[0]), options, runs, text, [&](const tcu_options_t &with) {
        for (const auto &t : more) t->upload();
        const tcu_status_t status = tcu_map(context(), &o, exprs[results - 2].get(), 2, in, &with);
        for (size_t k = 0; k < more.size() && status == TCU_OK; ++k) check(*more[k], expected[k], {});
        return status;
      });
    }
  report("broadcast", runs, {"broadcast.copied", "broadcast.crossed"});
}

TEST_CASE("cuda: second results of NaN, infinities and the lowest numbers", "[cuda][reduce]") {
  NEEDS_CUDA();
  Rng rng(62);
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (double special : {nan, inf, -inf})
    for (bool all : {false, true})
      for (int i : {0, 1}) {
        const Case &c = cases[i];
        Tensor in(rng, c.in, {70, 3}, false, true), out(rng, c.out, {1, 3}, false, true), second(rng, c.second_out, out);
        int64_t n = 0;
        in.fill([&] { return all || n++ % 20 == 7 ? special : 1.0; });
        out.fill([] { return 1.0; });
        second.fill([] { return 1.0; });
        const tcu_tensor_t o = out.view(), x = in.view(), s = second.view();
        const int32_t dim = 0;
        std::vector<int> runs;
        tcu_options_t options = TCU_OPTIONS_INIT;
        options.second = &s;
        on_every_kernel("reduce", out, oracle::reduce(c.first, {in.values()}, {0}), options, runs, in.text(), [&](const tcu_options_t &with) {
          second.upload();
          const tcu_status_t status = tcu_reduce(context(), &o, c.op, nullptr, 1, &x, 1, &dim, &with);
          if (status == TCU_OK) check(second, oracle::reduce(c.second, {in.values()}, {0}), {});
          return status;
        });
      }
}

TEST_CASE("cuda: second results of segments, empty ones among them", "[cuda][segmented]") {
  NEEDS_CUDA();
  Rng rng(63);
  std::vector<int64_t> at{0};
  for (int64_t length : {0, 1, 5, 0, 40, 3000, 7, 0}) at.push_back(at.back() + length);
  const int64_t segments = int64_t(at.size()) - 1;
  const double inf = std::numeric_limits<double>::infinity();
  for (int i : {0, 1, 2}) {
    const Case &c = cases[i];
    Tensor in(rng, c.in, {at.back()}, false, true), offsets(rng, TCU_INT32, {segments + 1}, false, true);
    Tensor out(rng, c.out, {segments}, false, true), second(rng, c.second_out, out);
    in.fill([&] { return number(rng, c.in); });
    size_t next = 0;
    offsets.fill([&] { return double(at[next++]); });
    out.fill([] { return 1.0; });
    second.fill([] { return 1.0; });
    const oracle::Tensor values = in.values();
    std::vector<double> expected[2], allowed[2];
    for (int64_t k = 0; k < segments; ++k) {
      oracle::Tensor part = values;
      part.extents = {at[size_t(k) + 1] - at[size_t(k)]}, part.base += at[size_t(k)];
      const bool empty = part.extents[0] == 0;
      for (int which : {0, 1}) {
        const Fold fold = which ? c.second : c.first;
        const double nothing = fold == Fold::max ? -inf : fold == Fold::min ? inf : fold == Fold::argmax ? 0 : std::nan("");
        const auto of = expected_of(fold, part, {0}), error = allowed_of(c, fold, part, {0});
        expected[which].push_back(empty ? nothing : of[0]);
        allowed[which].push_back(empty || error.empty() ? 0 : error[0]);
      }
    }
    const tcu_tensor_t o = out.view(), x = in.view(), s = second.view(), f = offsets.view();
    std::vector<int> runs;
    tcu_options_t options = TCU_OPTIONS_INIT;
    options.second = &s;
    on_every_kernel("segmented", out, expected[0], options, runs, in.text(), [&](const tcu_options_t &with) {
      second.upload();
      const tcu_status_t status = tcu_segmented_reduce(context(), &o, c.op, nullptr, 1, &x, 0, &f, &with);
      if (status == TCU_OK) check(second, expected[1], allowed[1]);
      return status;
    }, 0, allowed[0]);
  }
}
