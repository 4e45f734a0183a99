// How far running sums of 2^28 elements, carried in float32, are from float64's. The element's error is measured against the sum of
// magnitudes up to it, and the worst element counts: where all are positive, the relative error of the worst sum.
//
// Bounds: 4e-6 for uniform [0, 1), 1e-6 for normal; on tensor cores, which cut off where others round (mma.cuh), 1e-5 for both.
// Inside a tile sums are trees and chains of a few elements and add 2^-24 a link; from tile to tile they are a chain.
// scan.lookback takes the sums of 32 tiles in one link of it, 2520 links for 2^28 elements: their roundings add up as a random walk, of
// positive numbers to 1.1e-6 (simulated: float32 sums of 3328 elements, chained so). A chain of every element, in float32, stands
// still at 2^24: its error is printed beside them.
#include <cmath>
#include <cstdio>

#include "problems.h"

using namespace problems;

namespace {

double uniform(Rng &rng) { return double(rng() >> 11) * 0x1p-53; }
double normal(Rng &rng) { return std::sqrt(-2 * std::log(1 - uniform(rng))) * std::cos(6.283185307179586 * uniform(rng)); }

struct Data {
  const char *name;
  double (*value)(Rng &);
  double bound;
};
const Data data[] = {{"uniform", uniform, 4e-6}, {"normal", normal, 1e-6}};

// Which of the table's values element i is: independent from one element to the next, and quickly told.
size_t drawn(int64_t i, size_t values) {
  uint64_t x = uint64_t(i) * 0x9e3779b97f4a7c15u;
  x ^= x >> 32, x *= 0xd6e8feb86659fd93u;
  return size_t(x >> 40) % values;
}

template <class Bits>
void check(tcu_dtype_t dtype, int log2n, std::string &told) {
  const int64_t n = int64_t(1) << log2n;
  Rng rng(14);
  for (const Data &d : data) {
    std::vector<Bits> table(size_t(1) << 16), elements(static_cast<size_t>(n));
    std::vector<double> values(table.size());
    for (size_t k = 0; k < table.size(); ++k) encode(dtype, &table[k], d.value(rng)), values[k] = decode(dtype, &table[k]);
    for (int64_t i = 0; i < n; ++i) elements[size_t(i)] = table[drawn(i, table.size())];
    const std::vector<float> poison(static_cast<size_t>(n), NAN);
    api::Memory x(elements), y(poison);
    const tcu_tensor_t in{x.data, &n, nullptr, dtype, 1}, out{y.data, &n, nullptr, TCU_FLOAT32, 1};
    const auto tell = [&](const std::string &who, auto sum_at) {
      double sum = 0, magnitude = 0, worst = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double v = values[drawn(i, table.size())];
        sum += v, magnitude += std::abs(v);
        const double error = std::abs(sum_at(i, v) - sum);
        if (!(error <= worst * magnitude)) worst = error / magnitude;
      }
      char line[160];
      std::snprintf(line, sizeof line, "error %s %s %s 2^%d %.2e\n", who.c_str(), tcu_dtype_name(dtype), d.name, log2n, worst);
      told += line;
      return worst;
    };
    for (const std::string &kernel : kernels("scan")) {
      if (!kernel.empty() && kernel != "scan.lookback" && kernel.rfind("scan.tcu.", 0) != 0) continue;
      tcu_options_t options = TCU_OPTIONS_INIT;
      if (!kernel.empty()) options.kernel = kernel.c_str();
      REQUIRE(tcu_copy(context(), y.data, poison.data(), poison.size() * sizeof(float), nullptr) == TCU_OK);
      const tcu_status_t status = tcu_scan(context(), &out, TCU_REDUCE_SUM, nullptr, 1, &in, 0, &options);
      if (!kernel.empty() && status == TCU_ERROR_KERNEL) continue;
      INFO(kernel << " " << tcu_dtype_name(dtype) << " " << d.name << " 2^" << log2n << " " << tcu_last_error());
      REQUIRE(status == TCU_OK);
      const std::vector<float> got = y.get<float>(size_t(n));
      const double bound = kernel.rfind("scan.tcu.", 0) == 0 ? 1e-5 : d.bound;
      CHECK(tell(kernel.empty() ? "planner" : kernel, [&](int64_t i, double) { return double(got[size_t(i)]); }) <= bound);
    }
    float serial = 0;
    tell("serial", [&](int64_t, double v) { return double(serial += float(v)); });
  }
}

void check_both(int log2n) {
  std::string told;
  check<uint16_t>(TCU_FLOAT16, log2n, told);
  check<uint32_t>(TCU_FLOAT32, log2n, told);
  WARN(told);
}

}  // namespace

TEST_CASE("cuda: long running sums against float64", "[cuda][scan]") {
  NEEDS_CUDA();
  check_both(api::emulated() ? 16 : api::under_sanitizer() ? 18 : 22);
}

// Needs a GPU with 4 GB, and as much of the host; test_cuda "[large]".
TEST_CASE("cuda: running sums of 2^28 elements against float64", "[.][large]") {
  NEEDS_CUDA();
  check_both(28);
}
