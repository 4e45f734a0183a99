// Broadcasts on the cuda kernels against the oracle.
#include "problems.h"

#include <algorithm>
#include <numeric>

using namespace problems;

namespace {

const tcu_dtype_t dtypes[] = {TCU_FLOAT32, TCU_FLOAT16, TCU_BFLOAT16, TCU_FLOAT64, TCU_INT32, TCU_INT64};

struct Expr {
  explicit Expr(std::vector<tcu_node_t> nodes) {
    if (tcu_expr_create(&handle, nodes.data(), int32_t(nodes.size())) != TCU_OK) throw std::runtime_error(tcu_last_error());
  }
  Expr(const Expr &) = delete;
  ~Expr() { tcu_expr_destroy(handle); }
  tcu_expr_t handle = nullptr;
};
tcu_node_t input(int i) { return {TCU_NODE_INPUT, i, 0, 0, {}}; }
tcu_node_t op(tcu_op_t o) { return {TCU_NODE_OP, o, 0, 0, {}}; }

using tensors::Order;

// out's extents with some modes 1, or left away at the end.
Sizes broadcastable(Rng &rng, const Sizes &e) {
  Sizes x = e;
  for (auto &n : x)
    if (support::chance(rng, 25)) n = 1;
  if (!x.empty() && support::chance(rng, 20)) x.pop_back();
  return x;
}

void run_case(Rng &rng, tcu_expr_t expr, const oracle::Function &f, int n_inputs, tcu_dtype_t in, tcu_dtype_t to, const Sizes &extents,
              bool plain, std::vector<int> &runs, double relative = 0, Order last = Order::first) {
  const bool in_place = in == to && support::chance(rng, 20);
  std::vector<std::unique_ptr<Tensor>> inputs;
  std::vector<tcu_tensor_t> views;
  std::vector<oracle::Tensor> values;
  std::string text;
  for (int i = 0; i < n_inputs; ++i) {
    const bool whole = (in_place && i == 0) || (plain && support::chance(rng, 60));
    const bool crossed = last == Order::shuffled && !(in_place && i == 0) && support::chance(rng, 50);
    inputs.push_back(std::make_unique<Tensor>(rng, in, whole ? extents : broadcastable(rng, extents), !plain && !(in_place && i == 0), plain,
                                              i + 1 == n_inputs || crossed ? last : Order::first));
    inputs.back()->fill([&] { return double(support::pick(rng, -4, 4)); });
    values.push_back(inputs.back()->values());
    text += inputs.back()->text() + " ";
  }
  std::unique_ptr<Tensor> other;
  if (!in_place) {
    other = std::make_unique<Tensor>(rng, to, extents, false, plain);
    other->fill([&] { return double(support::pick(rng, -4, 4)); });
  }
  Tensor &out = in_place ? *inputs[0] : *other;
  for (auto &t : inputs) views.push_back(t->view());
  auto expected = oracle::map(extents, values, f);
  tcu_options_t options = TCU_OPTIONS_INIT;
  tcu_scalar_t alpha{}, beta{};
  const bool whole = in == TCU_INT32 || in == TCU_INT64 || in == TCU_INT8;
  if (relative == 0 && support::chance(rng, 25)) {
    const auto old = oracle::map(extents, {out.values()});
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = 2 * expected[i] - old[i];
    if (whole) alpha.i = 2, beta.i = -1;
    else alpha.f = 2, beta.f = -1;
    options.alpha = &alpha, options.beta = &beta;
    text += "alpha beta ";
  }
  const tcu_tensor_t o = out.view();
  on_every_kernel("broadcast", out, expected, options, runs, text + (in_place ? "in place" : ""), [&](const tcu_options_t &with) {
    return tcu_map(context(), &o, expr, n_inputs, views.data(), &with);
  }, relative);
}

}  // namespace

TEST_CASE("cuda: random broadcasts on every kernel", "[cuda][broadcast]") {
  NEEDS_CUDA();
  Rng rng(3);
  std::vector<int> runs;
  const Expr add({input(0), input(1), op(TCU_OP_ADD)});
  const oracle::Function sum = [](const std::vector<double> &x) { return x[0] + x[1]; };
  for (int i = 0; i < repeats(200); ++i) {
    const bool plain = support::chance(rng, 50);
    const Sizes extents = random_extents(rng, 4096);
    const tcu_dtype_t d = support::one_of(rng, dtypes);
    if (support::chance(rng, 50)) run_case(rng, add.handle, sum, 2, d, d, extents, plain, runs);
    else run_case(rng, nullptr, oracle::first, 1, d, d, extents, plain, runs);
  }
  // several tiles, every alignment
  for (int i = 0; i < repeats(12); ++i)
    run_case(rng, add.handle, sum, 2, dtypes[i % 3], dtypes[i % 3], {support::pick(rng, 9000, 20000)}, i % 2 == 0, runs);
  // dense rows that are no whole vectors, of some shorter ones than one
  for (int i = 0; i < repeats(36); ++i) {
    Sizes extents{support::pick(rng, 2, i % 5 < 2 ? 3 : 70), support::pick(rng, 2, 40)};
    if (i % 3 == 0) extents.push_back(3);
    const tcu_dtype_t d = dtypes[i % std::size(dtypes)];
    run_case(rng, add.handle, sum, 2, d, d, extents, true, runs);
  }
  // the last input's fastest mode is another than out's
  for (int i = 0; i < repeats(40); ++i) {
    const int64_t sizes[] = {16, 17, 31, 63, 64, 65, 130};
    Sizes extents{support::one_of(rng, sizes), support::one_of(rng, sizes)};
    if (i % 3 == 0) extents.insert(extents.begin() + i % 2, 3);
    const tcu_dtype_t d = dtypes[i % std::size(dtypes)];
    if (i % 2) run_case(rng, add.handle, sum, 2, d, d, extents, true, runs, 0, Order::reversed);
    else run_case(rng, nullptr, oracle::first, 1, d, d, extents, false, runs, 0, Order::reversed);
  }
  // pixels of a few channels: plane by plane in out and pixel by pixel in the last input, or the other way round
  for (int i = 0; i < repeats(36); ++i) {
    const int64_t pixels[] = {2, 12, 16, 48, 272, 528, 2096}, n = support::one_of(rng, pixels);
    const int64_t channels = api::emulated() && i % 6 ? 3 : support::pick(rng, 2, 12);
    const Sizes extents = i % 2 ? Sizes{n, channels} : Sizes{channels, n};
    const tcu_dtype_t d = i % 4 ? dtypes[i / 2 % std::size(dtypes)] : TCU_INT8;
    if (i % 3) run_case(rng, nullptr, oracle::first, 1, d, d, extents, true, runs, 0, Order::reversed);
    else run_case(rng, add.handle, sum, 2, d, d, extents, true, runs, 0, Order::reversed);
  }
  report("broadcast", runs, {"broadcast.copied", "broadcast.crossed"});
}

TEST_CASE("cuda: reversed tensors whose rows are no whole vectors, on every kernel", "[cuda][broadcast]") {
  NEEDS_CUDA();
  Rng rng(29);
  std::vector<int> runs;
  const Expr add({input(0), input(1), op(TCU_OP_ADD)});
  // tiles that overlap at the ends of modes, whose first and last vectors have neighbours that are not the input's; rows that are vectors one way or the
  // other; modes in rows of both; rows as short as a vector
  const Sizes shapes[] = {{17, 31, 3, 101}, {64, 67, 5, 3}, {103, 8, 70}, {5, 400, 50}, {1021, 40}, {40, 1021}, {16, 16}, {3, 40, 40, 7}};
  for (tcu_dtype_t d : {TCU_INT8, TCU_FLOAT16, TCU_FLOAT32, TCU_UINT8, TCU_BFLOAT16, TCU_INT32})
    for (const Sizes &extents : shapes)
      for (int n_inputs : {1, 2})
        for (bool plain : {true, false}) {
          const bool as_others = d == TCU_UINT8 || d == TCU_BFLOAT16 || d == TCU_INT32 || (n_inputs > 1 && (d != TCU_FLOAT16 || extents != shapes[0]));
          if (api::emulated() && (as_others || plain == ((&extents - shapes) % 2 > 0))) continue;  // half of some
          std::vector<std::unique_ptr<Tensor>> inputs;
          std::vector<tcu_tensor_t> views;
          std::vector<oracle::Tensor> values;
          for (int i = 0; i < n_inputs; ++i) {
            inputs.push_back(std::make_unique<Tensor>(rng, d, extents, false, plain, Order::reversed));
            inputs.back()->fill([&] { return double(support::pick(rng, 0, 50)); });
            views.push_back(inputs.back()->view()), values.push_back(inputs.back()->values());
          }
          Tensor out(rng, d, extents, false, true);
          const tcu_tensor_t o = out.view();
          const auto f = [](const std::vector<double> &x) { return std::accumulate(x.begin(), x.end(), 0.0); };
          tcu_options_t options = TCU_OPTIONS_INIT;
          on_every_kernel("broadcast", out, oracle::map(extents, values, f), options, runs, inputs[0]->text(), [&](const tcu_options_t &with) {
            return tcu_map(context(), &o, n_inputs > 1 ? add.handle : nullptr, n_inputs, views.data(), &with);
          });
        }
  const auto names = kernels("broadcast");
  CHECK(runs[size_t(std::find(names.begin(), names.end(), "broadcast.realigned") - names.begin())] >= (api::emulated() ? 8 : 90));
}

TEST_CASE("cuda: permuted tensors of up to seven modes on every kernel", "[cuda][broadcast]") {
  NEEDS_CUDA();
  Rng rng(7);
  std::vector<int> runs;
  const Expr add({input(0), input(1), op(TCU_OP_ADD)}), all({input(0), input(1), op(TCU_OP_ADD), input(2), op(TCU_OP_ADD)});
  const oracle::Function sum = [](const std::vector<double> &x) { return std::accumulate(x.begin(), x.end(), 0.0); };
  const tcu_dtype_t types[] = {TCU_INT8, TCU_FLOAT16, TCU_FLOAT32, TCU_FLOAT64, TCU_INT32};
  // extents of which tiles have all, some and one, in several tiles with a rest
  const int64_t small[] = {2, 3, 4, 5, 8, 16}, large[] = {17, 33, 64, 130, 300, 520};
  for (int i = 0; i < repeats(100); ++i) {
    Sizes extents;
    const int64_t most = api::emulated() ? 40000 : 1000000;
    int64_t n = 1;
    for (int rank = int(support::pick(rng, 3, 7)); rank > 0; --rank) {
      const int64_t e = support::chance(rng, 60) ? support::one_of(rng, small) : support::one_of(rng, large);
      if (n * e <= most) extents.push_back(e), n *= e;
    }
    std::shuffle(extents.begin(), extents.end(), rng);
    const tcu_dtype_t d = types[i % std::size(types)];
    const bool plain = i % 3 != 0;
    if (i % 4 < 2) run_case(rng, nullptr, oracle::first, 1, d, d, extents, plain, runs, 0, Order::shuffled);
    else if (i % 4 == 2) run_case(rng, add.handle, sum, 2, d, d, extents, plain, runs, 0, Order::shuffled);
    else run_case(rng, all.handle, sum, 3, d, d, extents, plain, runs, 0, Order::shuffled);
  }
  // of one input 1 byte, of the other 4; neighbours in runs of three; one row; the guide cut where out is, too
  run_case(rng, nullptr, oracle::first, 1, TCU_INT8, TCU_FLOAT32, {40, 6, 50}, true, runs, 0, Order::reversed);
  run_case(rng, nullptr, oracle::first, 1, TCU_FLOAT16, TCU_FLOAT16, {3, 90, 70}, true, runs, 0, Order::shuffled);
  run_case(rng, nullptr, oracle::first, 1, TCU_FLOAT32, TCU_FLOAT32, {1021, 3}, true, runs, 0, Order::reversed);
  run_case(rng, nullptr, oracle::first, 1, TCU_FLOAT32, TCU_FLOAT32, {5, 3001}, true, runs, 0, Order::reversed);
  // rows that begin anywhere in words, in tensors that do and in views
  for (tcu_dtype_t d : {TCU_FLOAT16, TCU_INT8, TCU_FLOAT32})
    for (const Sizes &extents : {Sizes{17, 31, 23}, Sizes{333, 70}, Sizes{7, 7, 40, 9}, Sizes{3, 30, 31, 5}, Sizes{65, 3, 127}, Sizes{197, 195, 2}})
      for (bool plain : {true, false}) run_case(rng, nullptr, oracle::first, 1, d, d, extents, plain, runs, 0, plain ? Order::reversed : Order::shuffled);
  // vectors that lie in several modes, of out's rows, of the input's and of both; words of elements that are beside each other in out
  const Sizes several[] = {{3, 32, 56, 4}, {28, 4, 40, 6}, {48, 11, 5, 20}, {16, 25, 3, 24}, {6, 6, 16, 24}, {20, 9, 8, 28}};
  for (int i = 0; i < (api::emulated() ? 12 : 144); ++i) {
    const tcu_dtype_t d = types[i / 2 % 3];
    const Sizes &extents = several[i / 6 % std::size(several)];
    if (i % 2) run_case(rng, nullptr, oracle::first, 1, d, d, extents, true, runs, 0, Order::shuffled);
    else run_case(rng, add.handle, sum, 2, d, d, extents, true, runs, 0, Order::shuffled);
  }
  const auto names = kernels("broadcast");
  const auto of = [&](const char *name) { return runs[size_t(std::find(names.begin(), names.end(), name) - names.begin())]; };
  if (api::drawn_as_written()) CHECK(of("broadcast.permute") >= repeats(100) / 4);
}

TEST_CASE("cuda: inputs that lie across out and across each other, on every kernel", "[cuda][broadcast]") {
  NEEDS_CUDA();
  Rng rng(31);
  std::vector<int> runs;
  const Expr add({input(0), input(1), op(TCU_OP_ADD), input(2), op(TCU_OP_ADD)});
  // Tiles with ends along all three modes, rows that are whole vectors and that are none, a fourth mode; the third input lies as out does, or is the
  // same all along its fastest mode.
  struct {
    tcu_dtype_t dtype;
    Sizes extents;
  } const cases[] = {{TCU_FLOAT32, {20, 17, 30}}, {TCU_FLOAT16, {20, 17, 30}}, {TCU_FLOAT32, {32, 36, 40}}, {TCU_FLOAT16, {40, 24, 48}}, {TCU_INT8, {48, 32, 80}},
                     {TCU_INT8, {37, 33, 34}}, {TCU_FLOAT64, {18, 34, 20}}, {TCU_FLOAT32, {17, 20, 3, 24}}};
  for (const auto &[d, extents] : cases) {
    const int rank = int(extents.size());
    // out(i, ..., k) = x(k, i, ...) + y(..., k, i) + z
    const auto strides_of = [&](const std::vector<int> &order) {
      Sizes strides(extents.size());
      int64_t n = 1;
      for (int m : order) strides[size_t(m)] = n, n *= extents[size_t(m)];
      return strides;
    };
    std::vector<int> from_last{rank - 1}, from_second;
    for (int m = 0; m + 1 < rank; ++m) from_last.push_back(m);
    for (int m = 1; m < rank; ++m) from_second.push_back(m);
    from_second.push_back(0);
    std::vector<int> as_out(static_cast<size_t>(rank));
    std::iota(as_out.begin(), as_out.end(), 0);
    Sizes strides[3] = {strides_of(from_last), strides_of(from_second), strides_of(as_out)};
    if (d == TCU_FLOAT32) strides[2].assign(extents.size(), 0), strides[2][1] = 1;
    Tensor x(rng, d, extents, false, true), y(rng, d, extents, false, true), z(rng, d, extents, false, true), out(rng, d, extents, false, true);
    for (Tensor *t : {&x, &y, &z, &out}) t->fill([&] { return double(support::pick(rng, -4, 4)); });
    const Tensor *const inputs[] = {&x, &y, &z};
    const tcu_tensor_t o = out.view();
    std::vector<tcu_tensor_t> in;
    std::vector<oracle::Tensor> from;
    for (int k = 0; k < 3; ++k) {
      tcu_tensor_t t = inputs[k]->view();
      t.strides = strides[k].data();
      in.push_back(t), from.push_back(inputs[k]->values());
    }
    std::vector<double> expected;
    support::for_each_index(extents, [&](const Sizes &i) {
      double all = 0;
      for (int k = 0; k < 3; ++k) {
        int64_t at = from[size_t(k)].base;
        for (int m = 0; m < rank; ++m) at += i[size_t(m)] * strides[k][size_t(m)];
        all += from[size_t(k)].data[size_t(at)];
      }
      expected.push_back(all);
    });
    const tcu_options_t options = TCU_OPTIONS_INIT;
    on_every_kernel("broadcast", out, expected, options, runs, "crossed", [&](const tcu_options_t &with) {
      return tcu_map(context(), &o, add.handle, 3, in.data(), &with);
    });
  }
  const auto names = kernels("broadcast");
  const auto of = [&](const char *name) { return runs[size_t(std::find(names.begin(), names.end(), name) - names.begin())]; };
  CHECK(of("broadcast.crossed") >= 4);  // the emulator has not all of them
  CHECK(of("broadcast.copied") >= 1);
}

TEST_CASE("cuda: casts and single ops", "[cuda][broadcast]") {
  NEEDS_CUDA();
  Rng rng(4);
  std::vector<int> runs;
  const Expr tanh({input(0), op(TCU_OP_TANH)});
  const oracle::Function f = [](const std::vector<double> &x) { return std::tanh(x[0]); };
  for (int n : {1, 7, 64, 1025})
    for (tcu_dtype_t d : {TCU_FLOAT32, TCU_FLOAT64, TCU_FLOAT16})
      run_case(rng, tanh.handle, f, 1, d, d, {n}, true, runs, 2e-3);
  for (int i = 0; i < repeats(12); ++i)  // strided: the kernel that all ops share
    run_case(rng, tanh.handle, f, 1, dtypes[i % 4], dtypes[i % 4], {support::pick(rng, 1, 40), support::pick(rng, 1, 9), 3}, false, runs, 1e-2);
  for (int n : {3, 1000}) run_case(rng, nullptr, oracle::first, 1, TCU_FLOAT32, TCU_FLOAT16, {n}, true, runs);
}

namespace {

// out = the sum of inputs, of which those that lack a mode of out, or have extent 1 there, stay along it.
void stay_along(Rng &rng, const Sizes &extents, const std::vector<Sizes> &of, const std::vector<tcu_dtype_t> &types, tcu_dtype_t to,
                bool plain, std::vector<int> &runs) {
  std::vector<tcu_node_t> nodes{input(0)};
  for (size_t i = 1; i < of.size(); ++i) nodes.push_back(input(int(i))), nodes.push_back(op(TCU_OP_ADD));
  const Expr add(nodes);
  std::vector<std::unique_ptr<Tensor>> inputs;
  std::vector<tcu_tensor_t> views;
  std::vector<oracle::Tensor> values;
  std::string text;
  for (size_t i = 0; i < of.size(); ++i) {
    inputs.push_back(std::make_unique<Tensor>(rng, types[i % types.size()], of[i], false, plain));
    inputs.back()->fill([&] { return double(support::pick(rng, -4, 4)); });
    values.push_back(inputs.back()->values()), views.push_back(inputs.back()->view());
    text += inputs.back()->text() + " ";
  }
  std::unique_ptr<Tensor> other;
  if (of[0] == extents && types[0] == to && support::chance(rng, 40)) {
    text += "in place ";
  } else {
    other = std::make_unique<Tensor>(rng, to, extents, false, plain);
    other->fill([&] { return double(support::pick(rng, -4, 4)); });
  }
  Tensor &out = other ? *other : *inputs[0];
  auto expected = oracle::map(extents, values, [](const std::vector<double> &x) {
    double sum = 0;
    for (double v : x) sum += v;
    return sum;
  });
  tcu_options_t options = TCU_OPTIONS_INIT;
  tcu_scalar_t alpha{}, beta{};
  if ((to == TCU_FLOAT32 || to == TCU_FLOAT16) && support::chance(rng, 30)) {
    const auto old = oracle::map(extents, {out.values()});
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = 2 * expected[i] - old[i];
    alpha.f = 2, beta.f = -1, options.alpha = &alpha, options.beta = &beta;
    text += "alpha beta ";
  }
  const tcu_tensor_t o = out.view();
  std::vector<int> mine;  // a first problem, to on_every_kernel, which leaves no kernel out then
  on_every_kernel("broadcast", out, expected, options, mine, text, [&](const tcu_options_t &with) {
    return tcu_map(context(), &o, add.handle, int32_t(views.size()), views.data(), &with);
  });
  runs.resize(mine.size());
  for (size_t k = 0; k < mine.size(); ++k) runs[k] += mine[k];
}

}  // namespace

TEST_CASE("cuda: broadcasts along which an operand stays", "[cuda][broadcast]") {
  NEEDS_CUDA();
  Rng rng(5);
  std::vector<int> runs;
  // vectors on the columns and on the rows of matrices, in several blocks and with a rest of steps
  const auto matrices = [&](int64_t n, int64_t m, tcu_dtype_t d) {
    stay_along(rng, {n, m}, {{n, m}, {n, 1}}, {d}, d, true, runs);
    stay_along(rng, {m, n}, {{m, n}, {1, n}}, {d}, d, true, runs);
  };
  for (int64_t n : {1, 15, 16, 17, 100, 1021, 1024}) {
    matrices(n, n > 1000 ? 9 : 67, TCU_FLOAT32);
    if (is_chosen(rng)) matrices(n, 130, TCU_FLOAT32);
  }
  matrices(100, 37, TCU_FLOAT16);
  matrices(1000, 32, TCU_FLOAT64);
  struct Case {
    Sizes out;
    std::vector<Sizes> in;
  };
  const Case cases[] = {
      {{1021, 30}, {{1021, 30}, {1021}}},                           // several steps in each of several parts
      {{301, 101}, {{301, 101}, {1, 101}}},
      {{4096, 5}, {{4096, 5}, {1, 5}}},                             // more steps along out than places
      {{16, 12, 6, 3}, {{16, 12, 6, 3}, {1, 1, 6}}},                // channels
      {{7, 5, 130, 3}, {{7, 5, 130, 3}, {7, 1, 130}}},
      {{12, 20, 3, 30}, {{12, 20, 3, 30}, {12, 1, 3}}},
      {{65, 33}, {{65}, {1, 33}}},                                  // outer products
      {{128, 96}, {{128}, {1, 96}}},
      {{96, 130}, {{96}}},                                          // everything stays
      {{1000}, {{1000}, {1}}},                                      // a scalar
      {{1003}, {{1}}},
      {{100, 37}, {{100, 37}, {100}, {1, 37}}},                     // three, along different modes
      {{20, 30, 11}, {{20, 30}, {1, 30, 11}, {20, 1, 11}}},
      {{5, 3, 4, 3, 5}, {{5, 3, 4, 3, 5}, {1, 3, 1, 3, 1}, {5, 1, 4, 1, 5}}},
      {{1028, 9}, {{1028, 9}, {1028}}},                             // more threads than places
      {{2, 999}, {{2, 999}, {2}}},                                  // few places, few steps
      {{2, 999}, {{2, 999}, {1, 999}}},
  };
  for (const Case &c : cases) stay_along(rng, c.out, c.in, {TCU_FLOAT32}, TCU_FLOAT32, true, runs);
  // views: gaps, offsets, any order, negative strides
  for (int i = 0; i < (api::emulated() ? 1 : 5); ++i)
    for (const Case &c : cases) stay_along(rng, c.out, c.in, {TCU_FLOAT32}, TCU_FLOAT32, false, runs);
  // what is a vector of 16 bytes in one operand is less in another
  const Case mixed[] = {cases[0], cases[4], cases[7], cases[11]};
  for_cases(rng, mixed, [&](const Case &c) { stay_along(rng, c.out, c.in, {TCU_FLOAT16, TCU_FLOAT32, TCU_INT8}, TCU_FLOAT32, true, runs); });
  std::vector<Sizes> sixteen(16, Sizes{64, 40});
  for (size_t i = 1; i < sixteen.size(); i += 2) sixteen[i] = {64};
  stay_along(rng, {64, 40}, sixteen, {TCU_FLOAT32}, TCU_FLOAT32, true, runs);
  const auto names = kernels("broadcast");
  for (size_t k = 0; k < runs.size(); ++k) {
    INFO(names[k] << " " << runs[k]);
    if (names[k].rfind("broadcast.sliding", 0) == 0) CHECK(runs[k] == runs[0]);  // each takes all of these
  }
}

TEST_CASE("cuda: broadcasts in vectors: rows that are none, and inputs that are turned", "[cuda][broadcast]") {
  NEEDS_CUDA();
  Rng rng(6);
  std::vector<int> runs;
  // on the emulator one of each size that no other test has
  const auto types = api::emulated() ? std::vector<tcu_dtype_t>{TCU_FLOAT16, TCU_FLOAT64, TCU_INT8}
                                     : std::vector<tcu_dtype_t>{TCU_FLOAT16, TCU_BFLOAT16, TCU_FLOAT32, TCU_FLOAT64, TCU_INT8, TCU_FLOAT8_E4M3};
  struct Case {
    Sizes out;
    std::vector<Sizes> in;
  };
  const Case rows[] = {
      {{17, 2}, {{17, 2}, {17}}},                   // fewer rows than a period has; 34 elements are no whole vectors
      {{100, 31}, {{100, 31}, {100}}},              // a period of some rows, and a part of one
      {{100, 31}, {{100, 31}, {1, 31}}},
      {{1021, 19}, {{1021}, {1021, 19}}},
      {{33, 65}, {{33}, {1, 65}}},                  // outer products
      {{33, 65}, {{1, 65}, {33}}},
      {{64, 65}, {{64}, {1, 65}}},
      {{20, 3, 7}, {{20, 3, 7}, {20}}},             // rows in two modes
      {{20, 3, 7}, {{20, 3, 7}, {1, 3}}},
      {{18, 5, 9}, {{18}, {1, 5, 9}}},
      {{18, 5, 9}, {{18, 5, 9}, {18}, {1, 1, 9}}},  // three ways of reading
      {{20, 3, 7}, {{20, 3, 7}, {20, 3}, {20}}},    // and a fourth, of what is laid out otherwise
      {{37, 40}, {{37}}},
  };
  for (tcu_dtype_t d : types)
    for_cases(rng, rows, [&](const Case &c) { stay_along(rng, c.out, c.in, {d}, d, true, runs); });
  // several steps of periods: as many as leave each multiprocessor some blocks
  const int64_t many = api::emulated() ? 70 : 1200, rows_of_few = 300 * many;
  const Case tall[] = {
      {{4099, many}, {{4099, many}, {4099}}},
      {{4099, many}, {{4099}, {1, many}}},
      {{11, rows_of_few}, {{11}, {1, rows_of_few}}},
      {{20, rows_of_few}, {{20, rows_of_few}, {1, rows_of_few}, {20}, {20}}},  // rows of half vectors
      {{24, rows_of_few}, {{24, rows_of_few}, {24}, {24}}},
  };
  for (tcu_dtype_t d : {TCU_FLOAT16, TCU_INT8}) {
    for_cases(rng, tall, [&](const Case &c) { stay_along(rng, c.out, c.in, {d}, d, true, runs); });
    stay_along(rng, {17, rows_of_few}, {{17, rows_of_few}, {1, rows_of_few}, {17}, {17}}, {d}, d, true, runs);  // as layers are normalized
  }

  const Expr add({input(0), input(1), op(TCU_OP_ADD)});
  const oracle::Function sum = [](const std::vector<double> &x) { return x[0] + x[1]; };
  const int64_t sizes[] = {16, 64, 80, 144};
  for (tcu_dtype_t d : types)
    for (int i = 0; i < repeats(8); ++i) {
      Sizes extents{support::one_of(rng, sizes), support::one_of(rng, sizes)};
      if (i % 4 == 3) extents.insert(extents.begin() + 1, 2);
      if (i % 2) run_case(rng, add.handle, sum, 2, d, d, extents, true, runs, 0, Order::reversed);
      else run_case(rng, nullptr, oracle::first, 1, d, d, extents, true, runs, 0, Order::reversed);
    }
  // rows shorter than a vector; a vector of several, and of two groups of them
  const Sizes short_rows[] = {{2, 4, 41}, {3, 3, 50}, {2, 8, 33}, {15, 2, 19}, {7, 300}, {5, 11, 3, 9}, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2}};
  for (tcu_dtype_t d : types)
    for (const Sizes &extents : short_rows) {
      if (!is_chosen(rng)) continue;
      run_case(rng, add.handle, sum, 2, d, d, extents, true, runs, 0, Order::shuffled);
      run_case(rng, nullptr, oracle::first, 1, d, d, extents, false, runs, 0, Order::shuffled);
    }
  stay_along(rng, {3, 40, 11}, {{3, 40, 11}, {3}, {1, 40}}, {TCU_FLOAT16}, TCU_FLOAT16, true, runs);
  stay_along(rng, {6, 5, 70}, {{1, 5, 70}, {6, 1, 70}}, {TCU_INT8}, TCU_INT8, true, runs);
  // rows that begin anywhere
  for (tcu_dtype_t d : types)
    for (int i = 0; i < repeats(8); ++i) {
      const Sizes extents{support::pick(rng, 17, 300), support::pick(rng, 1, 9)};
      if (i % 2) run_case(rng, add.handle, sum, 2, d, d, extents, false, runs);
      else run_case(rng, nullptr, oracle::first, 1, d, d, extents, false, runs);
    }
  // the same, so long that two words are read for what begins anywhere
  for (tcu_dtype_t d : types) {
    if (tcu_dtype_bytes(d) > 2) continue;
    for (int i = 0; i < repeats(6); ++i)
      run_case(rng, add.handle, sum, 2, d, d, {support::pick(rng, 1024, 1200), support::pick(rng, 1, 4)}, false, runs);
    stay_along(rng, {1037, 9}, {{1037, 9}, {1037}}, {d}, d, true, runs);
    stay_along(rng, {1037, 9}, {{1037, 9}, {1037}}, {TCU_FLOAT16, d}, TCU_FLOAT16, true, runs);
  }
  // a vector of 16 bytes in one operand is 4 or 2 elements in another
  for (tcu_dtype_t to : {TCU_FLOAT32, TCU_FLOAT64})
    for (tcu_dtype_t from : {TCU_INT8, TCU_FLOAT16, TCU_FLOAT8_E5M2})
      run_case(rng, nullptr, oracle::first, 1, from, to, {80, 144}, true, runs, 0, Order::reversed);
  for (tcu_dtype_t from : {TCU_FLOAT32, TCU_FLOAT16, TCU_BFLOAT16, TCU_FLOAT8_E4M3})  // shipped
    run_case(rng, nullptr, oracle::first, 1, from, TCU_FLOAT8_E5M2, {4099}, true, runs);
}
