// The same bits on every run, whatever else the device does: floats whose sum depends on the order, folded again and again on one
// stream while another is kept busy.
#include <random>

#include "api.h"

using namespace api;

namespace {

std::vector<float> uneven(size_t n) {
  std::mt19937 random(20261121);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float &v : values) v = normal(random) * (random() % 64 == 0 ? 1e6f : 1.0f);
  return values;
}

struct Case {
  const char *name;
  std::vector<int64_t> extents;
  std::vector<int32_t> dims;
  bool scan;
  tcu_reduce_op_t op = TCU_REDUCE_SUM;
  const char *kernel = nullptr;
};

}  // namespace

TEST_CASE("cuda: a thousand repeats under load give the same bits") {
  const int64_t scale = emulated() ? 64 : 1;
  const int repeats = emulated() ? 3 : under_sanitizer() ? 8 : 1000;
  const std::vector<Case> cases = {
      {"one long sum, in parts", {(1 << 21) / scale + 3}, {0}, false},
      {"few outputs, rows in parts", {96, 40000 / scale}, {1}, false},
      {"two outputs, parts of parts", {2, 300000 / scale}, {1}, false},
      {"rows of every alignment, in parts", {97, 40000 / scale}, {1}, false},
      {"one long variance, in parts", {(1 << 21) / scale + 3}, {0}, false, TCU_REDUCE_VAR},
      {"few outputs, logarithms in parts", {96, 40000 / scale}, {1}, false, TCU_REDUCE_LOGSUMEXP},
      {"few outputs, variances in groups of parts", {200, 40000 / scale}, {1}, false, TCU_REDUCE_VAR},
      {"columns by tiles, groups of parts", {emulated() ? 201 : 701, 20000 / scale}, {1}, false, TCU_REDUCE_SUM, "reduce.tiles"},
      {"around an odd number of columns, in parts", {7, emulated() ? 33 : 333, 20000 / scale}, {0, 2}, false, TCU_REDUCE_SUM, "reduce.tiles"},
      {"one long sum on tensor cores, in parts", {(1 << 21) / scale + 3}, {0}, false, TCU_REDUCE_SUM, "reduce.tcu.segmented"},
      {"a sum each for a block", {5000 / scale, 200}, {0}, false},
      {"one long scan", {(1 << 20) / scale + 1}, {0}, true},
      {"scans of lines", {700, 1000 / scale}, {0}, true},
      {"scans across", {1000, 700 / scale}, {1}, true},
      {"few long scans across", {24, 60000 / scale}, {1}, true},
      {"scans across, tile by tile", {emulated() ? 200 : 4096, emulated() ? 100 : 4096}, {1}, true, TCU_REDUCE_SUM, "scan.columns"},
      {"long interleaved lines", {3, 400000 / scale}, {1}, true},
      {"groups of interleaved lines", {3, 100, 3000 / scale}, {1}, true, TCU_REDUCE_SUM, "scan.interleaved"},
  };
  const Stream own, other;
  const int64_t load = (1 << 22) / scale;
  Memory noise(std::vector<float>(size_t(load), 1.0f), other.handle);
  const tcu_tensor_t noise_tensor{noise.data, &load, nullptr, TCU_FLOAT32, 1};
  const Expr twice({input(0), input(0), op(TCU_OP_ADD)}), differ({input(0), input(1), op(TCU_OP_NE)});
  tcu_options_t options = TCU_OPTIONS_INIT, busy = TCU_OPTIONS_INIT;
  options.stream = own.handle, busy.stream = other.handle;
  const tcu_options_t plain = options;

  for (const Case &c : cases) {
    INFO(c.name);
    options.kernel = c.kernel;
    int64_t n = 1;
    for (const int64_t e : c.extents) n *= e;
    std::vector<int64_t> folded = c.extents;
    int64_t n_out = n;
    for (const int32_t d : c.dims)
      if (!c.scan) folded[size_t(d)] = 1, n_out /= c.extents[size_t(d)];
    const int64_t one = 1;
    const int32_t rank = int32_t(c.extents.size()), flat = 0;
    Memory x(uneven(size_t(n)), own.handle), first(size_t(n_out) * 4, own.handle), again(size_t(n_out) * 4, own.handle);
    Memory wrong(std::vector<uint8_t>(size_t(repeats), 1), own.handle);
    const tcu_tensor_t in{x.data, c.extents.data(), nullptr, TCU_FLOAT32, rank};
    const tcu_tensor_t bits[] = {{first.data, &n_out, nullptr, TCU_INT32, 1}, {again.data, &n_out, nullptr, TCU_INT32, 1}};
    for (int i = -1; i < repeats; ++i) {
      OK(tcu_map(cuda(), &noise_tensor, twice.handle, 1, &noise_tensor, &busy));
      const tcu_tensor_t out{i < 0 ? first.data : again.data, folded.data(), nullptr, TCU_FLOAT32, rank};
      if (c.scan) OK(tcu_scan(cuda(), &out, c.op, nullptr, 1, &in, c.dims[0], &options));
      else OK(tcu_reduce(cuda(), &out, c.op, nullptr, 1, &in, int32_t(c.dims.size()), c.dims.data(), &options));
      if (i < 0) continue;
      const tcu_tensor_t slot{static_cast<uint8_t *>(wrong.data) + i, &one, nullptr, TCU_BOOL, 1};
      OK(tcu_reduce(cuda(), &slot, TCU_REDUCE_ANY, differ.handle, 2, bits, 1, &flat, &plain));
    }
    CHECK(wrong.get<uint8_t>(size_t(repeats)) == std::vector<uint8_t>(size_t(repeats), 0));
  }
}
