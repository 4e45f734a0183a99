#include "data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

namespace bench {
namespace {

// A float of a sign, exponents, and so many bits of fraction. Without infinities all ones are NaN.
struct Format {
  int bits, fraction, bias;
  bool has_infinities;
};
constexpr Format kHalf{16, 10, 15, true}, kE4M3{8, 3, 7, false}, kE5M2{8, 2, 15, true};

double decoded(const Format &f, unsigned bits) {
  const int one = 1 << f.fraction, last = (1 << (f.bits - 1 - f.fraction)) - 1;
  int exponent = static_cast<int>(bits >> f.fraction) & last, fraction = static_cast<int>(bits) & (one - 1);
  bool is_last = exponent == last && (f.has_infinities || fraction == one - 1);
  double magnitude = is_last         ? (f.has_infinities && !fraction ? INFINITY : NAN)
                     : exponent == 0 ? std::ldexp(fraction, 1 - f.bias - f.fraction)
                                     : std::ldexp(one + fraction, exponent - f.bias - f.fraction);
  return bits >> (f.bits - 1) ? -magnitude : magnitude;
}

// For values up to the largest, rounded to nearest even: the current rounding mode's std::nearbyint.
unsigned encoded(const Format &f, double value) {
  double magnitude = std::fabs(value);
  bool is_normal = magnitude >= std::ldexp(1, 1 - f.bias);
  int exponent = is_normal ? std::ilogb(magnitude) : 1 - f.bias;
  // of 2^(exponent - fraction); a carry runs on into the exponent
  auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, f.fraction - exponent)));
  return unsigned(std::signbit(value)) << (f.bits - 1) |
         (is_normal ? (unsigned(exponent + f.bias - 1) << f.fraction) + units : units);
}

// The largest number that tests add up of a dtype, one near it that it rounds, and what is little beside them and not rounded to zero.
struct Extremes {
  double largest, large, little;
};
Extremes extremes(tcu_dtype_t dtype) {
  if (dtype == TCU_FLOAT8_E4M3) return {448, 400, 0.1};
  if (dtype == TCU_FLOAT8_E5M2) return {57344, 50000, 1e-3};
  return {65504, 60000, 1e-3};
}

constexpr int64_t kOutlier = 1 << 18;  // among the first 2^20

// Where element i of a block comes from: `unit` is drawn for each, uniform in [0, 1).
struct Source {
  std::mt19937_64 random{20261121};
  std::normal_distribution<double> normal;
  double unit = 0;
};
using Draw = double (*)(Source &from, int64_t i, const Extremes &e);
const struct {
  const char *name;
  Draw draw;
} kinds[] = {
    {"uniform01", [](Source &from, int64_t, const Extremes &) { return from.unit; }},
    {"normal", [](Source &from, int64_t, const Extremes &) { return from.normal(from.random); }},
    {"alternating", [](Source &from, int64_t i, const Extremes &e) { return (i % 2 ? -e.large : e.large) + e.large / 600 * from.unit; }},
    {"outlier", [](Source &from, int64_t i, const Extremes &e) { return i == kOutlier ? e.large : e.little * from.unit; }},
    {"largest", [](Source &, int64_t, const Extremes &e) { return e.largest; }},
};
Draw draw_of(const std::string &data) {
  for (const auto &kind : kinds) {
    if (data == kind.name) return kind.draw;
  }
  throw std::invalid_argument("no data '" + data + "' in bench");
}

uint16_t to_bfloat(double value) {
  uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class T>
double load_as(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}
template <class T>
void store_as(T value, void *to) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace

tcu_dtype_t dtype_of(const std::string &name) {
  static const std::map<std::string, tcu_dtype_t> dtypes = {
      {"bool", TCU_BOOL},     {"i8", TCU_INT8},     {"i16", TCU_INT16},   {"i32", TCU_INT32},  {"i64", TCU_INT64},
      {"u8", TCU_UINT8},      {"u16", TCU_UINT16},  {"u32", TCU_UINT32},  {"u64", TCU_UINT64}, {"f16", TCU_FLOAT16},
      {"bf16", TCU_BFLOAT16}, {"f32", TCU_FLOAT32}, {"f64", TCU_FLOAT64}, {"f8e4m3", TCU_FLOAT8_E4M3}, {"f8e5m2", TCU_FLOAT8_E5M2},
  };
  auto found = dtypes.find(name);
  if (found == dtypes.end()) throw std::invalid_argument("no dtype '" + name + "' in bench");
  return found->second;
}

double load_element(tcu_dtype_t dtype, const void *from) {
  switch (dtype) {
    case TCU_BOOL:
    case TCU_UINT8:
      return load_as<uint8_t>(from);
    case TCU_INT8:
      return load_as<int8_t>(from);
    case TCU_INT16:
      return load_as<int16_t>(from);
    case TCU_UINT16:
      return load_as<uint16_t>(from);
    case TCU_INT32:
      return load_as<int32_t>(from);
    case TCU_UINT32:
      return load_as<uint32_t>(from);
    case TCU_INT64:
      return load_as<int64_t>(from);
    case TCU_UINT64:
      return load_as<uint64_t>(from);
    case TCU_FLOAT16:
      return decoded(kHalf, static_cast<uint16_t>(load_as<uint16_t>(from)));
    case TCU_FLOAT8_E4M3:
      return decoded(kE4M3, static_cast<uint8_t>(load_as<uint8_t>(from)));
    case TCU_FLOAT8_E5M2:
      return decoded(kE5M2, static_cast<uint8_t>(load_as<uint8_t>(from)));
    case TCU_BFLOAT16:
      return std::bit_cast<float>(static_cast<uint32_t>(load_as<uint16_t>(from)) << 16);
    case TCU_FLOAT32:
      return load_as<float>(from);
    default:
      return load_as<double>(from);
  }
}

void store_element(tcu_dtype_t dtype, double value, void *to) {
  switch (dtype) {
    case TCU_BOOL:
      return store_as<uint8_t>(value != 0, to);
    case TCU_UINT8:
      return store_as(static_cast<uint8_t>(value), to);
    case TCU_INT8:
      return store_as(static_cast<int8_t>(value), to);
    case TCU_INT16:
      return store_as(static_cast<int16_t>(value), to);
    case TCU_UINT16:
      return store_as(static_cast<uint16_t>(value), to);
    case TCU_INT32:
      return store_as(static_cast<int32_t>(value), to);
    case TCU_UINT32:
      return store_as(static_cast<uint32_t>(value), to);
    case TCU_INT64:
      return store_as(static_cast<int64_t>(value), to);
    case TCU_UINT64:
      return store_as(static_cast<uint64_t>(value), to);
    case TCU_FLOAT16:
      return store_as(static_cast<uint16_t>(encoded(kHalf, value)), to);
    case TCU_FLOAT8_E4M3:
      return store_as(static_cast<uint8_t>(encoded(kE4M3, value)), to);
    case TCU_FLOAT8_E5M2:
      return store_as(static_cast<uint8_t>(encoded(kE5M2, value)), to);
    case TCU_BFLOAT16:
      return store_as(to_bfloat(value), to);
    case TCU_FLOAT32:
      return store_as(static_cast<float>(value), to);
    default:
      return store_as(value, to);
  }
}

void Pool::prepare(tcu_dtype_t dtype, const std::string &data, int64_t elements) {
  const int64_t size = tcu_dtype_bytes(dtype);
  if (dtype == dtype_ && elements <= filled_) return;
  if (dtype != dtype_) {
    dtype_ = dtype;
    filled_ = 0, all_ = {};
    parts_.assign((period + part - 1) / part, {});
    block_.resize(period);
    bool is_float = (dtype >= TCU_FLOAT16 && dtype <= TCU_FLOAT64) || dtype == TCU_FLOAT8_E4M3 || dtype == TCU_FLOAT8_E5M2;
    bool is_signed = dtype >= TCU_INT8 && dtype <= TCU_INT64;
    const Draw draw = data.empty() ? nullptr : draw_of(data);
    if (draw && !is_float) throw std::invalid_argument("no data '" + data + "' of this dtype in bench");
    const Extremes most = extremes(dtype);
    Source from;
    std::vector<char> bytes(period * size);
    for (int64_t i = 0; i < period; i++) {
      const double unit = from.unit = static_cast<double>(from.random() >> 11) * 0x1p-53;
      double value = draw                ? draw(from, i, most)
                     : is_float          ? 2 * unit - 1
                     : dtype == TCU_BOOL ? std::floor(2 * unit)
                     : is_signed         ? std::floor(201 * unit) - 100
                                         : std::floor(101 * unit);
      // The second half is the first one negated: a sum over many periods stays as small as one over half a period,
      // which float16 can hold.
      if (i > period / 2 && data.empty() && (is_float || is_signed)) value = -block_[i - period / 2 - 1];
      store_element(dtype, value, &bytes[i * size]);
      parts_[i / part].add(block_[i] = load_element(dtype, &bytes[i * size]));
    }
    for (const Totals &t : parts_) all_.add(t);
    buffer_.reserve(std::max(elements, period) * size);
    must(tcu_copy(device_.context, buffer_.at(0), bytes.data(), bytes.size(), device_.stream));
    filled_ = period;
  } else if (static_cast<size_t>(elements * size) > buffer_.bytes()) {
    throw std::logic_error("a pool does not grow: prepare it for the largest case first");
  }
  // Doubling copies keep the period: each starts at a multiple of it.
  for (int64_t total = buffer_.bytes() / size; filled_ < total;) {
    int64_t n = std::min(filled_, total - filled_);
    must(tcu_copy(device_.context, buffer_.at(filled_ * size), buffer_.at(0), n * size, device_.stream));
    filled_ += n;
  }
  device_.synchronize();
}

Totals Pool::totals(int64_t first, int64_t n) const {
  Totals t;
  t.add(all_, static_cast<long double>(n / period));
  for (int64_t left = n % period, at = first % period; left > 0; at = at < period ? at : 0) {
    const int64_t whole = std::min(part, period - at);
    const bool fits = at % part == 0 && whole <= left;
    if (fits) t.add(parts_[at / part]);
    else t.add(block_[at]);
    at += fits ? whole : 1, left -= fits ? whole : 1;
  }
  return t;
}

}  // namespace bench
