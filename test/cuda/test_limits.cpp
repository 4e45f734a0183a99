// What no random problem reaches: more canonical modes than the small parameters hold, and more than 2^31 elements.
#include <functional>

#include "problems.h"

using namespace problems;

TEST_CASE("cuda: ten modes that do not merge", "[cuda][jit]") {
  NEEDS_CUDA();
  Rng rng(9);
  const Sizes extents(10, 2);
  Sizes strides;
  int64_t step = 1;
  for (size_t m = 0; m < extents.size(); ++m) strides.push_back(step), step = 2 * step + 1;
  const auto make = [&](const Sizes &e) {
    auto t = std::make_unique<Tensor>(rng, TCU_FLOAT32, Sizes{step + 7}, false, true);
    t->extents = e, t->strides = strides;
    t->fill([&] { return double(support::pick(rng, -4, 4)); });
    return t;
  };
  const auto in = make(extents);
  tcu_options_t options = TCU_OPTIONS_INIT;
  std::vector<int> runs;
  {
    const auto out = make(extents);
    const tcu_tensor_t o = out->view(), x = in->view();
    on_every_kernel("broadcast", *out, oracle::map(extents, {in->values()}), options, runs, "", [&](const tcu_options_t &with) {
      return tcu_map(context(), &o, nullptr, 1, &x, &with);
    });
  }
  runs.clear();
  for (const std::vector<int32_t> &dims : {std::vector<int32_t>{0, 2, 4, 6, 8}, std::vector<int32_t>{1, 3, 5, 7, 9}}) {
    const Sizes kept = kept_of(extents, dims);
    const auto out = make(kept);
    const tcu_tensor_t o = out->view(), x = in->view();
    on_every_kernel("reduce", *out, oracle::reduce(oracle::Fold::sum, {in->values()}, dims), options, runs, "", [&](const tcu_options_t &with) {
      return tcu_reduce(context(), &o, TCU_REDUCE_SUM, nullptr, 1, &x, int32_t(dims.size()), dims.data(), &with);
    });
  }
  runs.clear();
  const auto out = make(extents);
  const tcu_tensor_t o = out->view(), x = in->view();
  on_every_kernel("scan", *out, oracle::scan(oracle::Fold::sum, extents, {in->values()}, {4}, 0), options, runs, "", [&](const tcu_options_t &with) {
    return tcu_scan(context(), &o, TCU_REDUCE_SUM, nullptr, 1, &x, 4, &with);
  });
}

// 2^31 + 1005 elements. Needs a GPU with 16 GB; not run unless asked for: test_cuda "[large]".
TEST_CASE("cuda: more than 2^31 elements", "[.][large]") {
  NEEDS_CUDA();
  const int64_t n = (int64_t(1) << 31) + 1005, one = 1;
  void *memory[3] = {};
  REQUIRE(tcu_malloc(context(), &memory[0], size_t(n), nullptr) == TCU_OK);
  REQUIRE(tcu_malloc(context(), &memory[1], size_t(n) * 4, nullptr) == TCU_OK);
  REQUIRE(tcu_malloc(context(), &memory[2], 64, nullptr) == TCU_OK);
  const tcu_tensor_t bytes{memory[0], &n, nullptr, TCU_INT8, 1}, words{memory[1], &n, nullptr, TCU_INT32, 1},
      sum{memory[2], &one, nullptr, TCU_INT64, 1};
  const tcu_node_t nodes[] = {{TCU_NODE_CONSTANT, 0, TCU_INT8, 0, {1}}};
  tcu_expr_t fill = nullptr;
  REQUIRE(tcu_expr_create(&fill, nodes, 1) == TCU_OK);
  const auto word = [&](int64_t at) {
    int32_t v = 0;
    REQUIRE(tcu_copy(context(), &v, static_cast<int32_t *>(memory[1]) + at, sizeof v, nullptr) == TCU_OK);
    return v;
  };
  tcu_options_t options = TCU_OPTIONS_INIT;
  const int32_t dims[] = {0};
  for (const auto &k : kernels("broadcast")) {
    INFO(k);
    options.kernel = k.empty() ? nullptr : k.c_str();
    const tcu_status_t status = tcu_map(context(), &bytes, fill, 0, nullptr, &options);
    INFO(tcu_last_error());
    REQUIRE((status == TCU_OK || status == TCU_ERROR_KERNEL));
  }
  for (const auto &k : kernels("reduce")) {
    INFO(k);
    options.kernel = k.empty() ? nullptr : k.c_str();
    const tcu_status_t status = tcu_reduce(context(), &sum, TCU_REDUCE_SUM, nullptr, 1, &bytes, 1, dims, &options);
    INFO(tcu_last_error());
    if (status == TCU_ERROR_KERNEL) continue;
    REQUIRE(status == TCU_OK);
    int64_t total = 0;
    REQUIRE(tcu_copy(context(), &total, memory[2], sizeof total, nullptr) == TCU_OK);
    CHECK(total == n);
  }
  const int64_t table[] = {65537, 32767}, row[] = {65537, 1};  // rows that begin anywhere, in a view that does
  const tcu_tensor_t rows{static_cast<int8_t *>(memory[0]) + 3, table, nullptr, TCU_INT8, 2}, sums{memory[1], row, nullptr, TCU_INT64, 2};
  const int32_t across[] = {1};
  for (const auto &k : kernels("reduce")) {
    INFO(k);
    options.kernel = k.empty() ? nullptr : k.c_str();
    const tcu_status_t status = tcu_reduce(context(), &sums, TCU_REDUCE_SUM, nullptr, 1, &rows, 1, across, &options);
    INFO(tcu_last_error());
    if (status == TCU_ERROR_KERNEL) continue;
    REQUIRE(status == TCU_OK);
    std::vector<int64_t> totals(65537);
    REQUIRE(tcu_copy(context(), totals.data(), memory[1], totals.size() * 8, nullptr) == TCU_OK);
    CHECK(totals == std::vector<int64_t>(totals.size(), table[1]));
  }
  const int64_t pairs[] = {2, 5, 214748365}, five[] = {1, 5, 1};  // short rows of five outputs
  const tcu_tensor_t planes{memory[0], pairs, nullptr, TCU_INT8, 3}, of_five{memory[1], five, nullptr, TCU_INT64, 3};
  const int32_t around[] = {0, 2};
  for (const auto &k : kernels("reduce")) {
    INFO(k);
    options.kernel = k.empty() ? nullptr : k.c_str();
    const tcu_status_t status = tcu_reduce(context(), &of_five, TCU_REDUCE_SUM, nullptr, 1, &planes, 2, around, &options);
    INFO(tcu_last_error());
    if (status == TCU_ERROR_KERNEL && !k.empty() && k != "reduce.tiles") continue;
    REQUIRE(status == TCU_OK);
    std::vector<int64_t> totals(5);
    REQUIRE(tcu_copy(context(), totals.data(), memory[1], totals.size() * 8, nullptr) == TCU_OK);
    CHECK(totals == std::vector<int64_t>(5, 2 * pairs[2]));
  }
  const int64_t none[] = {1, 1, 1};
  const tcu_tensor_t all{memory[2], none, nullptr, TCU_INT64, 3};
  const int32_t down[] = {1}, everything[] = {0, 1, 2};
  for (const auto &[kernel, columns] : {std::pair{"reduce.periods", Sizes{5, 17, n / 85}},       // short columns between each other
                                        std::pair{"reduce.abreast", Sizes{n / 3 | 1, 3, 1}}}) {  // a long row each
    const Sizes no_columns{columns[0], 1, columns[2]};
    const tcu_tensor_t matrices{memory[0], columns.data(), nullptr, TCU_INT8, 3}, of_columns{memory[1], no_columns.data(), nullptr, TCU_INT64, 3};
    for (const char *k : {"", kernel}) {
      INFO(k << " in place of " << kernel);
      options.kernel = *k ? k : nullptr;
      REQUIRE(tcu_reduce(context(), &of_columns, TCU_REDUCE_SUM, nullptr, 1, &matrices, 1, down, &options) == TCU_OK);
      options.kernel = nullptr;
      for (const tcu_reduce_op_t op : {TCU_REDUCE_MIN, TCU_REDUCE_MAX}) {
        REQUIRE(tcu_reduce(context(), &all, op, nullptr, 1, &of_columns, 3, everything, &options) == TCU_OK);
        int64_t total = 0;
        REQUIRE(tcu_copy(context(), &total, memory[2], sizeof total, nullptr) == TCU_OK);
        CHECK(total == columns[1]);
      }
    }
  }
  const int64_t fives[] = {5, n / 5}, five_weights[] = {5, 1}, number[] = {1, 1};
  const tcu_tensor_t factors{memory[0], fives, nullptr, TCU_INT8, 2}, weights{memory[0], five_weights, nullptr, TCU_INT8, 2};
  const tcu_tensor_t of_factors{memory[2], number, nullptr, TCU_INT64, 2}, products[] = {factors, weights};
  const api::Expr product({api::input(0), api::input(1), api::op(TCU_OP_MUL)});
  options.kernel = "reduce.flat";
  REQUIRE(tcu_reduce(context(), &of_factors, TCU_REDUCE_SUM, product.handle, 2, products, 2, everything, &options) == TCU_OK);
  int64_t of_all = 0;
  REQUIRE(tcu_copy(context(), &of_all, memory[2], sizeof of_all, nullptr) == TCU_OK);
  CHECK(of_all == fives[0] * fives[1]);
  for (const auto &k : kernels("scan")) {
    if (k == "scan.general" || k == "scan.lines") continue;  // one warp for all of it
    INFO(k);
    options.kernel = k.empty() ? nullptr : k.c_str();
    const tcu_status_t status = tcu_scan(context(), &words, TCU_REDUCE_SUM, nullptr, 1, &bytes, 0, &options);
    INFO(tcu_last_error());
    if (status == TCU_ERROR_KERNEL && !k.empty() && k != "scan.lookback") continue;
    REQUIRE(status == TCU_OK);
    for (int64_t at : {int64_t(0), int64_t(1) << 20, int64_t(1) << 30, (int64_t(1) << 31) - 2}) CHECK(word(at) == at + 1);
    CHECK(word(n - 1) == int32_t(uint32_t(uint64_t(n))));
  }
  const int64_t threes[] = {3, 715827884};  // many lines of three, and three lines side by side
  const tcu_tensor_t in{memory[0], threes, nullptr, TCU_INT8, 2}, out{memory[1], threes, nullptr, TCU_INT32, 2};
  for (int32_t dim : {0, 1})
    for (const auto &k : kernels("scan")) {
      if (k == "scan.general" || k == "scan.lines") continue;
      INFO(k << " along " << dim);
      options.kernel = k.empty() ? nullptr : k.c_str();
      const tcu_status_t status = tcu_scan(context(), &out, TCU_REDUCE_SUM, nullptr, 1, &in, dim, &options);
      INFO(tcu_last_error());
      const bool asked = k.empty() || (dim == 0 ? k == "scan.tiles" : k == "scan.columns" || k == "scan.interleaved");
      if (status == TCU_ERROR_KERNEL && !asked) continue;
      REQUIRE(status == TCU_OK);
      for (int64_t j : {int64_t(0), int64_t(1) << 20, int64_t(1) << 29, threes[1] - 1})
        for (int64_t i : {0, 1, 2}) CHECK(word(i + 3 * j) == (dim == 0 ? i : j) + 1);
    }
  const int64_t table_of[] = {1001, (int64_t(1) << 31) / 1001 + 1};  // rows that begin anywhere, in parts
  REQUIRE(table_of[0] * table_of[1] <= n);
  const tcu_tensor_t from{memory[0], table_of, nullptr, TCU_INT8, 2}, to{memory[1], table_of, nullptr, TCU_INT32, 2};
  for (const char *k : {"", "scan.columns"}) {
    INFO(k);
    options.kernel = *k ? k : nullptr;
    REQUIRE(tcu_scan(context(), &to, TCU_REDUCE_SUM, nullptr, 1, &from, 1, &options) == TCU_OK);
    for (int64_t j : {int64_t(0), int64_t(1000), table_of[1] / 2, table_of[1] - 1})
      for (int64_t i : {0, 255, 256, 1000}) CHECK(word(i + 1001 * j) == j + 1);
  }
  const int64_t turned[] = {threes[1], 3}, strides[] = {3, 1};  // an input that lies across
  const tcu_tensor_t across_out{memory[0], turned, strides, TCU_INT8, 2}, lines{memory[1], turned, nullptr, TCU_INT32, 2};
  options.kernel = "scan.copied";
  REQUIRE(tcu_scan(context(), &lines, TCU_REDUCE_SUM, nullptr, 1, &across_out, 1, &options) == TCU_OK);
  for (int64_t j : {int64_t(0), int64_t(1) << 29, threes[1] - 1})
    for (int64_t i : {0, 1, 2}) CHECK(word(j + threes[1] * i) == i + 1);
  const int64_t lines_n = n / 32768, along_first[] = {32768, lines_n}, along_second[] = {lines_n, 32768};  // and longer lines, either way round
  for (int32_t dim : {0, 1}) {
    const int64_t *const shape = dim == 0 ? along_first : along_second, apart[] = {shape[1], 1}, step = dim == 0 ? 1 : lines_n;
    const tcu_tensor_t turned_in{memory[0], shape, apart, TCU_INT8, 2}, as_it_is{memory[1], shape, nullptr, TCU_INT32, 2};
    for (const char *k : {"", "scan.turned"}) {
      INFO(k << " along " << dim);
      options.kernel = *k ? k : nullptr;
      REQUIRE(tcu_scan(context(), &as_it_is, TCU_REDUCE_SUM, nullptr, 1, &turned_in, dim, &options) == TCU_OK);
      for (int64_t j : {int64_t(0), lines_n / 2, lines_n - 1})
        for (int64_t i : {0, 255, 256, 32767}) CHECK(word(i * step + j * (dim == 0 ? 32768 : 1)) == i + 1);
    }
  }
  tcu_expr_destroy(fill);
  for (void *m : memory) tcu_free(context(), m, nullptr);
}

// Needs 9 GB.
TEST_CASE("cuda: outer products and transposed copies of more than 2^31 elements", "[.][large]") {
  NEEDS_CUDA();
  const tcu_node_t nodes[] = {{TCU_NODE_INPUT, 0, 0, 0, {}}, {TCU_NODE_INPUT, 1, 0, 0, {}}, {TCU_NODE_OP, TCU_OP_ADD, 0, 0, {}}};
  tcu_expr_t add = nullptr;
  REQUIRE(tcu_expr_create(&add, nodes, 3) == TCU_OK);
  const int64_t shapes[][2] = {{65537, 32771}, {65536, 32800}};  // rows that are no whole vectors, and rows that are
  for (const auto &shape : shapes) {
    const int64_t n = shape[0], m = shape[1], column[] = {n, 1}, row[] = {1, m}, turned[] = {m, n}, backwards[] = {n, 1}, one = 1;
    std::vector<int8_t> a(static_cast<size_t>(n)), b(static_cast<size_t>(m));
    int64_t total = 0;
    for (int64_t i = 0; i < n; ++i) a[size_t(i)] = int8_t(i % 7), total += i % 7 * m;
    for (int64_t j = 0; j < m; ++j) b[size_t(j)] = int8_t(j % 11), total += j % 11 * n;
    void *memory[5] = {};
    const size_t sizes[] = {a.size(), b.size(), size_t(n) * size_t(m), size_t(n) * size_t(m), 64};
    for (int k = 0; k < 5; ++k) REQUIRE(tcu_malloc(context(), &memory[k], sizes[k], nullptr) == TCU_OK);
    REQUIRE(tcu_copy(context(), memory[0], a.data(), a.size(), nullptr) == TCU_OK);
    REQUIRE(tcu_copy(context(), memory[1], b.data(), b.size(), nullptr) == TCU_OK);
    const tcu_tensor_t in[] = {{memory[0], column, nullptr, TCU_INT8, 2}, {memory[1], row, nullptr, TCU_INT8, 2}};
    const tcu_tensor_t out{memory[2], shape, nullptr, TCU_INT8, 2};
    const tcu_tensor_t other{memory[3], turned, nullptr, TCU_INT8, 2}, view{memory[2], turned, backwards, TCU_INT8, 2};
    const auto check = [&](int where, const int64_t *extents, const std::function<int64_t(int64_t, int64_t)> &value) {
      const tcu_tensor_t all{memory[where], extents, nullptr, TCU_INT8, 2}, sum{memory[4], &one, nullptr, TCU_INT64, 1};
      const int32_t dims[] = {0, 1};
      REQUIRE(tcu_reduce(context(), &sum, TCU_REDUCE_SUM, nullptr, 1, &all, 2, dims, nullptr) == TCU_OK);
      int64_t found = 0;
      REQUIRE(tcu_copy(context(), &found, memory[4], sizeof found, nullptr) == TCU_OK);
      CHECK(found == total);
      for (int64_t j : {int64_t(0), extents[1] / 2, extents[1] - 1})
        for (int64_t i : {int64_t(0), extents[0] / 3, extents[0] - 1}) {
          int8_t x = -1;
          REQUIRE(tcu_copy(context(), &x, static_cast<int8_t *>(memory[where]) + (i + j * extents[0]), 1, nullptr) == TCU_OK);
          CHECK(int64_t(x) == value(i, j));
        }
    };
    // Into memory[to], whose elements are those of the other array before.
    const auto on_all = [&](int to, const int64_t *extents, const std::function<tcu_status_t(const tcu_options_t &)> &call,
                            const std::function<int64_t(int64_t, int64_t)> &value) {
      auto names = kernels("broadcast");
      names.push_back("");  // the planner's choice once more: what is there then is whole
      for (const auto &k : names) {
        INFO(k << " " << extents[0] << " x " << extents[1]);
        tcu_options_t options = TCU_OPTIONS_INIT;
        options.kernel = k.empty() ? nullptr : k.c_str();
        REQUIRE(tcu_copy(context(), memory[to], memory[5 - to], sizes[2], nullptr) == TCU_OK);
        const tcu_status_t status = call(options);
        INFO(tcu_last_error());
        if (!k.empty() && status == TCU_ERROR_KERNEL) continue;
        REQUIRE(status == TCU_OK);
        check(to, extents, value);
      }
    };
    on_all(2, shape, [&](const tcu_options_t &with) { return tcu_map(context(), &out, add, 2, in, &with); },
           [](int64_t i, int64_t j) { return i % 7 + j % 11; });
    on_all(3, turned, [&](const tcu_options_t &with) { return tcu_map(context(), &other, nullptr, 1, &view, &with); },
           [](int64_t i, int64_t j) { return j % 7 + i % 11; });
    // Both, which lie across each other, and of which each element is the other's.
    const int64_t beside[] = {m, 1};
    const tcu_tensor_t both[] = {out, {memory[3], shape, beside, TCU_INT8, 2}};
    for (const auto &[dim, kept] : {std::pair{int32_t(0), row}, {int32_t(1), column}}) {
      const int64_t many = dim == 0 ? m : n, others = dim == 0 ? n : m, own = dim == 0 ? 11 : 7, other = dim == 0 ? 7 : 11;
      void *results = nullptr;
      REQUIRE(tcu_malloc(context(), &results, size_t(many) * 8, nullptr) == TCU_OK);
      std::vector<int64_t> expected(static_cast<size_t>(many)), found(expected.size());
      int64_t of_others = 0;
      for (int64_t i = 0; i < others; ++i) of_others += i % other;
      for (int64_t j = 0; j < many; ++j) expected[size_t(j)] = 2 * (of_others + j % own * others);
      const tcu_tensor_t sums{results, kept, nullptr, TCU_INT64, 2};
      for (const char *k : {"", "reduce.turned"}) {
        INFO(k << " over " << dim);
        tcu_options_t options = TCU_OPTIONS_INIT;
        options.kernel = *k ? k : nullptr;
        REQUIRE(tcu_reduce(context(), &sums, TCU_REDUCE_SUM, add, 2, both, 1, &dim, &options) == TCU_OK);
        REQUIRE(tcu_copy(context(), found.data(), results, found.size() * 8, nullptr) == TCU_OK);
        CHECK(found == expected);
      }
      tcu_free(context(), results, nullptr);
    }
    for (void *p : memory) tcu_free(context(), p, nullptr);
  }
  tcu_expr_destroy(add);
}
