// Floats of 8 bits on the cuda kernels: conversions, which have instructions of their own on a device, number by number, and sums, extrema
// and running sums of many elements.
#include <cmath>

#include "problems.h"

using namespace problems;

namespace {

const tcu_dtype_t both[] = {TCU_FLOAT8_E4M3, TCU_FLOAT8_E5M2};

// Values converted by one call must be what the host makes of them, but for which NaN.
void check_conversion(tcu_dtype_t from, tcu_dtype_t to, const std::vector<unsigned char> &values) {
  const size_t in_size = size_t(tcu_dtype_bytes(from)), out_size = size_t(tcu_dtype_bytes(to)), n = values.size() / in_size;
  api::Memory x(values), y(std::vector<unsigned char>(n * out_size, 0xa5));
  const int64_t extent = int64_t(n);
  const tcu_tensor_t in{x.data, &extent, nullptr, from, 1}, out{y.data, &extent, nullptr, to, 1};
  OK(tcu_map(context(), &out, nullptr, 1, &in, nullptr));
  const auto got = y.get<unsigned char>(n * out_size);
  for (size_t i = 0; i < n; ++i) {
    unsigned char want[16];
    with_type(from, [&](auto v) {
      std::memcpy(&v, values.data() + i * in_size, sizeof v);
      with_type(to, [&](auto w) { w = tcu::convert<decltype(w)>(v), std::memcpy(want, &w, sizeof w); });
    });
    const double a = decode(to, got.data() + i * out_size), b = decode(to, want);
    if (std::memcmp(got.data() + i * out_size, want, out_size) != 0 && !(a != a && b != b))
      FAIL(tcu_dtype_name(from) << " " << decode(from, values.data() + i * in_size) << " becomes " << tcu_dtype_name(to) << " " << a
                                << ", not " << b);
  }
}

// Every number of dtype d that is not negative, what is halfway to the next, and the neighbours of those, of both signs, as numbers of T.
template <class T>
std::vector<unsigned char> boundaries(tcu_dtype_t d) {
  std::vector<T> all{0, std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::max()};
  for (unsigned char bits = 0; bits < 0x7f; ++bits) {
    const unsigned char after = static_cast<unsigned char>(bits + 1);
    const double x = decode(d, &bits), middle = (x + decode(d, &after)) / 2;  // of the largest number not finite
    for (const double y : {x, middle, 464.0, 61440.0})
      if (std::isfinite(y))
        for (const T z : {T(y), std::nextafter(T(y), T(0)), std::nextafter(T(y), std::numeric_limits<T>::infinity())}) all.push_back(z);
  }
  const size_t n = all.size();
  for (size_t i = 0; i < n; ++i) all.push_back(-all[i]);
  const auto *const bytes = reinterpret_cast<const unsigned char *>(all.data());
  return {bytes, bytes + all.size() * sizeof(T)};
}

}  // namespace

TEST_CASE("cuda: floats of 8 bits, every number and every rounding boundary", "[cuda][float8]") {
  NEEDS_CUDA();
  std::vector<unsigned char> every, halves;
  for (int i = 0; i < 65536; ++i) halves.push_back(static_cast<unsigned char>(i)), halves.push_back(static_cast<unsigned char>(i >> 8));
  for (int i = 0; i < 4099; ++i) every.push_back(static_cast<unsigned char>(i));  // again and again: whole vectors, and a rest
  for (const tcu_dtype_t d : both) {
    for (const tcu_dtype_t to : {TCU_FLOAT32, TCU_FLOAT16, TCU_BFLOAT16, TCU_FLOAT64, TCU_INT8, TCU_FLOAT8_E4M3, TCU_FLOAT8_E5M2})
      check_conversion(d, to, every);
    check_conversion(TCU_FLOAT32, d, boundaries<float>(d));
    check_conversion(TCU_FLOAT64, d, boundaries<double>(d));
    check_conversion(TCU_FLOAT16, d, halves);
    check_conversion(TCU_BFLOAT16, d, halves);
    check_conversion(TCU_INT8, d, every);
  }
}

TEST_CASE("cuda: floats of 8 bits, sums, extrema and running sums of many", "[cuda][float8]") {
  NEEDS_CUDA();
  Rng rng(8);
  const int64_t block = 1 << 12, one = 1;
  const int64_t n = (api::emulated() ? 1 << 15 : 1 << 28) + 3, scanned = (api::emulated() ? 1 << 13 : 1 << 26) + 3;
  for (const tcu_dtype_t d : both) {
    INFO(tcu_dtype_name(d));
    std::vector<unsigned char> bytes(static_cast<size_t>(n));
    // As much below 0 as above, far from each other, and 3 beside it: every sum is less than 2^24, and of no piece of a block, nor of all, is it surely 0.
    for (int64_t i = 0; i < block; ++i)
      encode(d, &bytes[size_t(i)], i < block / 2 ? double(support::pick(rng, -4, 4)) : -decode(d, &bytes[size_t(i - block / 2)]));
    encode(d, &bytes[0], 3), encode(d, &bytes[size_t(block / 2)], 0);
    for (int64_t i = block; i < n; i += block) std::memcpy(&bytes[size_t(i)], bytes.data(), size_t(std::min(block, n - i)));
    const int64_t at = support::pick(rng, block, n - 1);  // one larger than all others
    encode(d, &bytes[size_t(at)], 7);
    double sum = 0, block_sum = 0;
    for (int64_t i = 0; i < block; ++i) block_sum += decode(d, &bytes[size_t(i)]);
    for (int64_t i = n / block * block; i < n; ++i) sum += decode(d, &bytes[size_t(i % block)]);
    sum += block_sum * double(n / block) + 7 - decode(d, &bytes[size_t(at % block)]);
    api::Memory x(bytes), y(std::vector<float>(1, -1)), p(std::vector<int64_t>(1, -1)), running(size_t(scanned) * sizeof(float));
    const tcu_tensor_t in{x.data, &n, nullptr, d, 1}, out{y.data, &one, nullptr, TCU_FLOAT32, 1};
    const tcu_tensor_t place{p.data, &one, nullptr, TCU_INT64, 1};
    const int32_t dim = 0;
    for (const char *kernel : {"", "reduce.tcu.segmented", "reduce.split"}) {
      tcu_options_t options = TCU_OPTIONS_INIT;
      if (*kernel) options.kernel = kernel;
      INFO(kernel);
      OK(tcu_reduce(context(), &out, TCU_REDUCE_SUM, nullptr, 1, &in, 1, &dim, &options));
      CHECK(double(y.get<float>(1)[0]) == sum);
    }
    OK(tcu_reduce(context(), &out, TCU_REDUCE_MAX, nullptr, 1, &in, 1, &dim, nullptr));
    CHECK(y.get<float>(1)[0] == 7);
    OK(tcu_reduce(context(), &out, TCU_REDUCE_MIN, nullptr, 1, &in, 1, &dim, nullptr));
    CHECK(y.get<float>(1)[0] == -4);
    OK(tcu_reduce(context(), &place, TCU_REDUCE_ARGMAX, nullptr, 1, &in, 1, &dim, nullptr));
    CHECK(p.get<int64_t>(1)[0] == at);
    const tcu_tensor_t line{x.data, &scanned, nullptr, d, 1}, sums{running.data, &scanned, nullptr, TCU_FLOAT32, 1};
    OK(tcu_scan(context(), &sums, TCU_REDUCE_SUM, nullptr, 1, &line, 0, nullptr));
    const auto got = running.get<float>(size_t(scanned));
    double before = 0;
    int64_t wrong = 0;
    for (int64_t i = 0; i < scanned; ++i) wrong += double(got[size_t(i)]) != (before += decode(d, &bytes[size_t(i)]));
    CHECK(wrong == 0);
  }
}
