// What no random problem reaches: more canonical modes than the small parameters hold, and more than 2^31 elements.
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
    Sizes kept = extents;
    for (int32_t d : dims) kept[size_t(d)] = 1;
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

// 2^31 + 5 elements. Needs a GPU with 16 GB; not run unless asked for: test_cuda "[large]".
TEST_CASE("cuda: more than 2^31 elements", "[.][large]") {
  NEEDS_CUDA();
  const int64_t n = (int64_t(1) << 31) + 5, one = 1;
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
  for (const auto &k : kernels("scan")) {
    if (k == "scan.general" || k == "scan.lines") continue;  // one warp for all of it
    INFO(k);
    options.kernel = k.empty() ? nullptr : k.c_str();
    const tcu_status_t status = tcu_scan(context(), &words, TCU_REDUCE_SUM, nullptr, 1, &bytes, 0, &options);
    INFO(tcu_last_error());
    REQUIRE(status == TCU_OK);
    for (int64_t at : {int64_t(0), int64_t(1) << 20, int64_t(1) << 30, (int64_t(1) << 31) - 2}) CHECK(word(at) == at + 1);
    CHECK(word(n - 1) == int32_t(uint32_t(uint64_t(n))));
  }
  tcu_expr_destroy(fill);
  for (void *m : memory) tcu_free(context(), m, nullptr);
}
