// Sums along lines on tensor cores (scan.tcu.*): lines of any length, wherever they begin, in every direction and in place; what is not
// finite in every position of a tile; how far sums are from float64's; and the same bits on every run.
#include <cmath>

#include "problems.h"

using namespace problems;

namespace {

struct Kind {
  tcu_dtype_t in, out, accumulator = 0;  // 0: the library's own
};
const char *const rows[] = {"scan.tcu.segmented", "scan.tcu.lookback", "scan.tcu.three_launches"};
const Kind kinds[] = {{TCU_FLOAT16, TCU_FLOAT16}, {TCU_BFLOAT16, TCU_FLOAT32}, {TCU_INT8, TCU_INT32, TCU_INT32},
                      {TCU_INT8, TCU_INT64},      {TCU_UINT8, TCU_INT64}};

// `count` lines of `length` elements, so many between them; in and out begin so many elements behind 256 bytes.
struct Lines {
  int64_t length, count = 1, gap = 0, in_shift = 0, out_shift = 0;
};
struct How {
  bool exclusive = false, reverse = false, scaled = false, in_place = false;  // scaled: after init = 3, times 2, and out added
};

// value(i) is element i of all of them. Fails unless every element is the serial scan's in float64, to `relative` of the sum of magnitudes
// so far, and nothing else was written. False: the row does not take them.
template <class Value>
bool scans_are_right(const char *kernel, const Kind &k, const Lines &lines, const How &how, double relative, Value value) {
  const auto [length, count, gap, in_shift, out_shift] = lines;
  const int64_t pitch = length + gap, all = count * pitch;
  const size_t in_size = size_t(tcu_dtype_bytes(k.in)), size = size_t(tcu_dtype_bytes(k.out)), room = 256;
  std::vector<unsigned char> elements((room + size_t(in_shift + all)) * in_size + room, 0x5a);
  std::vector<unsigned char> results((room + size_t(out_shift + all)) * size + room, 0x5a);
  unsigned char *const x = elements.data() + (room + size_t(in_shift)) * in_size;
  const size_t y_at = (room + size_t(how.in_place ? in_shift : out_shift)) * size;
  for (int64_t line = 0; line < count; ++line)
    for (int64_t i = 0; i < length; ++i) {
      encode(k.in, x + size_t(line * pitch + i) * in_size, value(line * length + i));
      if (how.scaled && !how.in_place) encode(k.out, results.data() + y_at + size_t(line * pitch + i) * size, double(i % 7));
    }
  if (how.in_place) results = elements;
  api::Memory in_memory(elements), out_memory(how.in_place ? std::vector<unsigned char>(16) : results);
  api::Memory &to = how.in_place ? in_memory : out_memory;
  const int64_t extents[] = {length, count}, strides[] = {1, pitch};
  const tcu_tensor_t in{static_cast<char *>(in_memory.data) + (x - elements.data()), extents, strides, k.in, 2};
  const tcu_tensor_t out{static_cast<char *>(to.data) + y_at, extents, strides, k.out, 2};
  tcu_options_t options = TCU_OPTIONS_INIT;
  options.kernel = kernel, options.accumulator = k.accumulator;
  options.scan_flags = (how.exclusive ? TCU_SCAN_EXCLUSIVE : 0) | (how.reverse ? TCU_SCAN_REVERSE : 0);
  const bool is_float = k.in == TCU_FLOAT16 || k.in == TCU_BFLOAT16;
  tcu_scalar_t init{}, alpha{}, beta{};
  if (is_float) init.f = 3, alpha.f = 2, beta.f = 1;
  else init.i = 3, alpha.i = 2, beta.i = 1;
  if (how.scaled) options.init = &init, options.alpha = &alpha;
  if (how.scaled && !how.in_place && length % 2) options.beta = &beta;
  const tcu_status_t status = tcu_scan(context(), &out, TCU_REDUCE_SUM, nullptr, 1, &in, 0, &options);
  if (status == TCU_ERROR_KERNEL) return false;
  INFO(kernel << " " << tcu_dtype_name(k.in) << " to " << tcu_dtype_name(k.out) << ", " << count << " lines of " << length << ", gap "
              << gap << ", " << in_shift << " and " << out_shift << " elements behind 256 bytes" << (how.exclusive ? ", exclusive" : "")
              << (how.reverse ? ", reverse" : "") << (how.scaled ? ", scaled" : "") << (how.in_place ? ", in place" : "") << ": "
              << tcu_last_error());
  REQUIRE(tcu_status_name(status) == std::string("TCU_OK"));
  auto now = to.get<unsigned char>(results.size());
  size_t wrong = 0;
  std::string first;
  for (int64_t line = 0; line < count; ++line) {
    double sum = how.scaled ? 3 : 0, magnitude = sum;
    for (int64_t i = 0; i < length; ++i) {
      const size_t place = size_t(line * pitch + (how.reverse ? length - 1 - i : i));
      const double e = decode(k.in, x + place * in_size), before = sum;
      sum += e, magnitude += std::abs(e);
      double want = (how.exclusive ? before : sum) * (how.scaled ? 2 : 1);
      unsigned char *const at = now.data() + y_at + place * size, *const old = results.data() + y_at + place * size;
      if (options.beta) want += decode(k.out, old);
      const double got = decode(k.out, at), right = relative == 0 ? rounded(k.out, want) : want;
      const double far = relative == 0 ? 0 : relative * magnitude + stored_error(k.out, want);
      if (!(got == right || (got != got && right != right) || std::abs(got - right) <= far) && wrong++ == 0)
        first = "element " + std::to_string(i) + " of line " + std::to_string(line) + " is " + std::to_string(got) + ", not " +
                std::to_string(right);
      std::memcpy(at, old, size);
    }
  }
  INFO(first);
  REQUIRE(wrong == 0);
  REQUIRE((now == results));
  return true;
}

// Whose sums are exact.
double element(Rng &rng, const Kind &k) {
  if (k.in == TCU_INT8 || k.in == TCU_UINT8) return double(support::pick(rng, 0, 255)) - (k.in == TCU_INT8 ? 128 : 0);
  return double(support::pick(rng, -4, 4));
}
How random_way(Rng &rng, const Kind &k) {
  return {support::chance(rng, 30), support::chance(rng, 30), support::chance(rng, 30), k.in == k.out && support::chance(rng, 30)};
}

}  // namespace

TEST_CASE("cuda: short scans on tensor cores, of lines of any length", "[cuda][tensor][scan]") {
  NEEDS_CUDA();
  Rng rng(20261125);
  int runs = 0, of_sixteen = 0;
  for (const int64_t length : {16,  32,  33,  47,  48,  63,  64,  65,  96,   100,  127,  128, 129,
                               255, 256, 257, 272, 480, 512, 513, 1000, 1024, 2049, 4096, 5000, 13000})
    for_cases(rng, kinds, [&](const Kind &k) {
      for (const int64_t count : {int64_t(1), int64_t(37), support::pick(rng, 38, 900)}) {
        if (count * length > (api::emulated() ? 30000 : 2000000)) continue;
        const int64_t shifts[] = {0, 8, 64, support::pick(rng, 0, 130)};
        const Lines lines{length, count, 0, support::one_of(rng, shifts), support::one_of(rng, shifts)};
        const bool taken = scans_are_right(rows[0], k, lines, random_way(rng, k), 0, [&](int64_t) { return element(rng, k); });
        runs += taken, of_sixteen += taken && length == 16;
      }
    });
  if (api::drawn_as_written()) CHECK(runs > (api::emulated() ? 20 : 200));
  CHECK((of_sixteen > 0 || api::emulated()));
  // too short for a quad of lanes, and no whole number of 16
  for (const Kind &k : kinds) CHECK_FALSE(scans_are_right(rows[0], k, {17, 40}, {}, 0, [&](int64_t) { return element(rng, k); }));
}

TEST_CASE("cuda: long scans on tensor cores", "[cuda][tensor][scan]") {
  NEEDS_CUDA();
  Rng rng(20261126);
  int runs = 0;
  for (const int64_t length : {2, 16, 32, 100, 256, 272, 4096, 13248, 13312, 13313, 65535, 65536, 65537, 262147, 3000001})
    for_cases(rng, kinds, [&](const Kind &k) {
      for (const int64_t count : {1, 3}) {
        if (count * length > (api::emulated() ? 70000 : 4000000)) continue;
        const int64_t shifts[] = {0, 8, 64, support::pick(rng, 0, 130)};
        const int64_t gap = count == 1 ? 0 : support::pick(rng, 0, 20);
        const Lines lines{length, count, gap, support::one_of(rng, shifts), support::one_of(rng, shifts)};
        const How how = random_way(rng, k);
        for (const char *row : {rows[1], rows[2]}) {
          CHECK(scans_are_right(row, k, lines, how, 0, [&](int64_t) { return element(rng, k); }));
          ++runs;
        }
      }
    });
  CHECK(runs > (api::emulated() ? 20 : 30));
}

// One element that is not finite, and others beside it whose sums are exact: those before it, and those of other lines, are as without it.
TEST_CASE("cuda: scans on tensor cores, one element that is not finite, in every position of a tile", "[cuda][tensor][scan]") {
  NEEDS_CUDA();
  Rng rng(8);
  const double inf = std::numeric_limits<double>::infinity();
  for (const Kind &k : {Kind{TCU_FLOAT16, TCU_FLOAT32}, Kind{TCU_BFLOAT16, TCU_FLOAT32}})
    for (const int64_t length : {16, 32, 45, 100, 256, 2100}) {
      const int64_t count = 2100 / length, all = std::min<int64_t>(2048, length * count);
      for (int64_t at = support::pick(rng, 0, 5); at < all; at += api::emulated() ? 97 : api::under_sanitizer() ? 41 : 1) {
        const double specials[] = {inf, -inf, inf - inf, k.in == TCU_FLOAT16 ? 65504 : 1e38};
        const double special = specials[at % 4];
        const auto value = [&](int64_t i) { return i == at ? special : i == at + 5 && at % 3 == 0 ? -special : double(i % 9) - 4; };
        const How how{at % 5 == 0, at % 7 == 0, at % 2 == 1, false};
        const double relative = at % 4 == 3 ? 0x1p-20 : 0;
        REQUIRE(scans_are_right(rows[0], k, {length, count, 0, at % 3 * 8}, how, relative, value));
        if (length >= 256) REQUIRE(scans_are_right(rows[1 + at % 2], k, {length, count}, how, relative, value));
      }
    }
}

TEST_CASE("cuda: long scans on tensor cores, one element that is not finite, in whole tiles", "[cuda][tensor][scan]") {
  NEEDS_CUDA();
  Rng rng(10);
  const double specials[] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  for (const Kind &k : {Kind{TCU_FLOAT16, TCU_FLOAT16}, Kind{TCU_BFLOAT16, TCU_FLOAT32}})
    for (int i = 0; i < repeats(20); ++i) {
      const int64_t at = support::pick(rng, 0, 29999);
      const auto value = [&](int64_t i) { return i == at ? specials[at % 2] : double(i % 9) - 4; };
      const How how{at % 5 == 0, at % 7 == 0, at % 3 == 0, false};
      for (const char *row : {rows[1], rows[2]}) REQUIRE(scans_are_right(row, k, {30000, 1 + at % 2}, how, 0, value));
    }
}

TEST_CASE("cuda: scans on tensor cores against float64", "[cuda][tensor][scan]") {
  NEEDS_CUDA();
  Rng rng(12);
  const auto uniform = [&] { return double(rng() >> 11) * 0x1p-53; };
  const auto normal = [&] { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); };
  const int64_t n = api::emulated() ? 1 << 14 : api::under_sanitizer() ? 1 << 16 : 1 << 20;
  int runs = 0;
  for (const tcu_dtype_t in : {TCU_FLOAT16, TCU_BFLOAT16})
    for (const char *row : rows)
      for (const int64_t length : {n, n / 64, n / 1024}) {
        if (api::emulated() && !support::chance(rng, 20)) continue;
        const Kind k{in, TCU_FLOAT32};
        const Lines lines{length, n / length};
        const double general = 2e-7 * std::log2(double(length));
        if (!scans_are_right(row, k, lines, {}, 1e-6, [&](int64_t) { return uniform(); })) continue;
        ++runs;
        CHECK(scans_are_right(row, k, lines, {}, 1e-6, [&](int64_t) { return 65504.0; }));
        CHECK(scans_are_right(row, k, lines, {}, general, [&](int64_t) { return normal(); }));
        CHECK(scans_are_right(row, k, lines, {}, general, [&](int64_t i) { return (i & 1 ? -1 : 1) * 60000 + uniform(); }));
      }
  if (api::drawn_as_written()) CHECK(runs > 2);
}

TEST_CASE("cuda: scans on tensor cores have the same bits on every run", "[cuda][tensor][scan]") {
  NEEDS_CUDA();
  Rng rng(9);
  const int64_t n = api::emulated() ? 40003 : 3000001, lines[] = {1000, n / 1000};
  std::vector<unsigned char> elements(size_t(n) * 2);
  for (int64_t i = 0; i < n; ++i) encode(TCU_FLOAT16, elements.data() + i * 2, double(rng() >> 11) * 0x1p-53 - 0.25);
  api::Memory x(elements);
  for (const char *row : rows) {
    INFO(row);
    const bool segmented = row == rows[0];
    const tcu_tensor_t in{x.data, segmented ? lines : &n, nullptr, TCU_FLOAT16, segmented ? 2 : 1};
    std::vector<uint32_t> first;
    for (int i = 0; i < (api::emulated() ? 3 : repeats(100)); ++i) {
      api::Memory y(std::vector<float>(size_t(n), -1));
      const tcu_tensor_t out{y.data, in.extents, nullptr, TCU_FLOAT32, in.rank};
      tcu_options_t options = TCU_OPTIONS_INIT;
      options.kernel = row;
      OK(tcu_scan(context(), &out, TCU_REDUCE_SUM, nullptr, 1, &in, 0, &options));
      const auto bits = y.get<uint32_t>(size_t(n));
      if (i == 0) first = bits;
      REQUIRE((bits == first));
    }
  }
}
