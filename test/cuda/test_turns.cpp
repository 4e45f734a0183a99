// Kernels begin before what is before them in their stream has ended, and wait for it where they first read (await_turn,
// lib/cuda/device/intrinsics.cuh). Each of them pinned, between launches that write what it reads: first one thing and then another.
#include <cstring>
#include <map>

#include "problems.h"

using namespace api;

namespace {

struct Case {
  const char *family;
  std::vector<int64_t> extents;
  std::vector<int32_t> dims;
  bool turned = false;  // the input lies in memory in reverse order
};

// x is reduced, or scanned, or a row is added to it.
tcu_status_t call(const Case &c, const tcu_tensor_t &out, const tcu_tensor_t &x, const tcu_tensor_t &row, tcu_expr_t add,
                  const tcu_options_t &options) {
  const tcu_tensor_t both[] = {x, row};
  if (c.family == std::string("broadcast")) return tcu_map(cuda(), &out, add, 2, both, &options);
  if (c.family == std::string("scan")) return tcu_scan(cuda(), &out, TCU_REDUCE_SUM, nullptr, 1, &x, c.dims[0], &options);
  return tcu_reduce(cuda(), &out, TCU_REDUCE_SUM, nullptr, 1, &x, int32_t(c.dims.size()), c.dims.data(), &options);
}

}  // namespace

TEST_CASE("cuda: every kernel between launches that write what it reads") {
  if (emulated()) {
    WARN("skipped: launches do not overlap on the emulator, which fails where a kernel does not wait, in every test");
    return;
  }
  const Case cases[] = {
      {"reduce", {700001}, {0}},          {"reduce", {300, 2570}, {0}},          {"reduce", {300, 2570}, {1}},
      {"reduce", {3000, 257}, {1}},       {"reduce", {7, 64, 1300}, {0, 2}},     {"reduce", {49, 33, 500}, {0, 2}},
      {"reduce", {3, 64, 2000}, {1}},     {"reduce", {5, 300000}, {1}},          {"reduce", {7, 5, 64, 300}, {1, 3}},
      {"reduce", {13, 30001}, {0}},       {"reduce", {130, 47, 90}, {1}, true},  {"reduce", {1003, 700}, {1}},
      {"scan", {700001}, {0}},            {"scan", {30000}, {0}},                {"scan", {5000, 5}, {1}},
      {"scan", {257, 3000}, {0}},         {"scan", {13, 30000}, {0}},            {"scan", {257, 3000}, {1}},
      {"scan", {24, 30000}, {1}},         {"scan", {3, 100, 2000}, {1}},         {"scan", {300, 700}, {0}, true},
      {"broadcast", {700001}, {}},        {"broadcast", {3001, 257}, {}},        {"broadcast", {3, 257, 900}, {}},
      {"broadcast", {3000, 256}, {}, true}, {"broadcast", {3, 300, 700}, {}, true}, {"broadcast", {64, 28, 30, 12}, {}, true},
      {"broadcast", {3, 900}, {}},
  };
  const int steps = under_sanitizer() ? 4 : 40;
  const Stream owner;
  const Expr add({input(0), input(1), op(TCU_OP_ADD)});
  std::map<std::string, int> runs;
  for (const Case &c : cases) {
    const int32_t rank = int32_t(c.extents.size());
    std::vector<int64_t> strides(c.extents.size()), folded = c.extents, row_strides(c.extents.size(), 0);
    int64_t n = 1, n_out = 1;
    for (int32_t k = 0; k < rank; ++k) {
      const size_t d = size_t(c.turned ? rank - 1 - k : k);
      strides[d] = n, n *= c.extents[d];
    }
    row_strides[0] = 1;
    if (c.family == std::string("reduce"))
      for (const int32_t d : c.dims) folded[size_t(d)] = 1;
    for (const int64_t e : folded) n_out *= e;
    const int64_t apart = (n_out + 63) / 64 * 64;  // so that every result begins where vectors may
    std::vector<float> one(static_cast<size_t>(n)), other(one.size()), of_row(static_cast<size_t>(c.extents[0]));
    for (size_t i = 0; i < one.size(); ++i) one[i] = float(i % 7), other[i] = float(i % 11) - 3;
    for (size_t i = 0; i < of_row.size(); ++i) of_row[i] = float(i % 5);
    Memory a(one, owner.handle), b(other, owner.handle), x(size_t(n) * 4, owner.handle), row(of_row, owner.handle);
    Memory results(size_t(apart) * 4 * size_t(steps + 2), owner.handle);
    const auto flat = [&](const Memory &m) { return tcu_tensor_t{m.data, &n, nullptr, TCU_FLOAT32, 1}; };
    const tcu_tensor_t from[] = {flat(a), flat(b)}, to = flat(x);
    const tcu_tensor_t tx{x.data, c.extents.data(), strides.data(), TCU_FLOAT32, rank}, trow{row.data, c.extents.data(), row_strides.data(), TCU_FLOAT32, rank};
    tcu_options_t plain = TCU_OPTIONS_INIT;
    plain.stream = owner.handle;
    for (const std::string &name : problems::kernels(c.family)) {
      if (name.find(".copied") != std::string::npos) continue;  // several launches
      tcu_options_t options = plain;
      options.kernel = name.empty() ? nullptr : name.c_str();
      INFO(name << " " << c.extents[0] << " ... of " << n);
      tcu_status_t status = TCU_OK;
      // The last two results: with nothing else on the device.
      for (int i = steps + 1; i >= 0 && status != TCU_ERROR_KERNEL; --i) {
        const bool calm = i >= steps;
        OK(tcu_map(cuda(), &to, nullptr, 1, from + i % 2, &plain));
        if (calm) OK(tcu_synchronize(cuda(), owner.handle));
        const tcu_tensor_t out{static_cast<float *>(results.data) + i * apart, folded.data(), nullptr, TCU_FLOAT32, rank};
        status = call(c, out, tx, trow, add.handle, options);
        if (status != TCU_ERROR_KERNEL) OK(status);
        if (calm) OK(tcu_synchronize(cuda(), owner.handle));
      }
      if (status == TCU_ERROR_KERNEL) continue;
      ++runs[name];
      const std::vector<float> got = results.get<float>(size_t(apart) * size_t(steps + 2));
      int wrong = 0;
      for (int i = 0; i < steps; ++i)
        wrong += std::memcmp(got.data() + i * apart, got.data() + (steps + (i + steps) % 2) * apart, size_t(n_out) * 4) != 0;
      CHECK(wrong == 0);
    }
  }
  std::string text;
  for (const auto &[name, times] : runs) text += name + " " + std::to_string(times) + "  ";
  WARN(text);
  for (const char *name : {"reduce.tiles", "reduce.channels", "reduce.shifted", "reduce.abreast", "reduce.strided", "reduce.contiguous", "reduce.general",
                           "broadcast.permute", "broadcast.transpose", "broadcast.general", "broadcast.dense", "broadcast.short",
                           "broadcast.sliding_register", "scan.columns", "scan.tiles", "scan.short", "scan.cluster"})
    CHECK(runs[name] > 0);
}
