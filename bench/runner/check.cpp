#include "check.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

namespace bench {
namespace {

// A fold over part of the folded space; parts join in order. The sum is wider than float64 where long double is, for
// its own rounding would else pass for that of a float64 result.
struct Partial {
  long double sum = 0;
  double product = 1, best = 0, squares = 0;
  int64_t at = -1;  // of best

  void take(double x, int64_t position, bool wants_max) {
    sum += x, product *= x, squares += x * x;
    if (at < 0 || (wants_max ? x > best : x < best)) best = x, at = position;
  }
  void join(const Partial &later, bool wants_max) {
    sum += later.sum, product *= later.product, squares += later.squares;
    if (later.at >= 0 && (at < 0 || (wants_max ? later.best > best : later.best < best)))
      best = later.best, at = later.at;
  }
};

// Folds positions [from, to) of the folded dims (the lowest fastest), the other dims at index.
Partial fold_range(const Case &c, const Expression &e, const Pool &pool, const std::vector<int64_t> &origins,
                   std::vector<int64_t> index, int64_t from, int64_t to, bool wants_max) {
  std::vector<int> dims = c.dims;
  std::sort(dims.begin(), dims.end());
  int64_t rest = from;
  for (int d : dims) index[d - 1] = rest % c.shape[d - 1], rest /= c.shape[d - 1];

  const size_t n = c.inputs.size();
  std::vector<int64_t> at(n);
  std::vector<double> values(n);
  auto stride = [&](size_t input, int d) {
    const View &v = c.inputs[input];
    return d > static_cast<int>(v.shape.size()) || v.shape[d - 1] == 1 ? 0 : v.strides[d - 1];
  };
  for (size_t j = 0; j < n; j++) {
    at[j] = origins[j] + c.inputs[j].offset;
    for (size_t d = 1; d <= c.shape.size(); d++) at[j] += index[d - 1] * stride(j, static_cast<int>(d));
  }
  Partial p;
  for (int64_t position = from; position < to; position++) {
    for (size_t j = 0; j < n; j++) values[j] = pool.host_at(at[j]);
    p.take(e.is_identity() ? values[0] : e.run(values.data()), position, wants_max);
    for (int d : dims) {  // step to the next index
      bool carries = ++index[d - 1] == c.shape[d - 1];
      for (size_t j = 0; j < n; j++) at[j] += carries ? (1 - c.shape[d - 1]) * stride(j, d) : stride(j, d);
      if (!carries) break;
      index[d - 1] = 0;
    }
  }
  return p;
}

Partial fold(const Case &c, const Expression &e, const Pool &pool, const std::vector<int64_t> &origins,
             const std::vector<int64_t> &index, int64_t length, bool wants_max) {
  const int64_t threads = length < (1 << 16) ? 1 : std::max(1u, std::thread::hardware_concurrency());
  std::vector<Partial> parts(threads);
  std::vector<std::thread> workers;
  for (int64_t t = 0; t < threads; t++) {
    auto work = [&, t] {
      parts[t] = fold_range(c, e, pool, origins, index, length * t / threads, length * (t + 1) / threads, wants_max);
    };
    if (threads == 1)
      work();
    else
      workers.emplace_back(work);
  }
  for (std::thread &w : workers) w.join();
  for (int64_t t = 1; t < threads; t++) parts[0].join(parts[t], wants_max);
  return parts[0];
}

bool is_scan(const Case &c) { return c.family == "scan" || c.family == "segmented_scan"; }

double unit_roundoff(const std::string &dtype) {
  return dtype == "f16" ? 0x1p-11 : dtype == "bf16" ? 0x1p-8 : dtype == "f32" ? 0x1p-24 : dtype == "f64" ? 0x1p-53 : 0;
}

}  // namespace

Samples choose_samples(const Case &c) {
  const std::vector<int64_t> extents = c.out_shape();
  int64_t outputs = 1;
  for (int64_t e : extents) outputs *= e;
  int64_t wanted = std::clamp<int64_t>((int64_t{1} << 25) / std::max<int64_t>(c.fold_length(), 1), 3, 300);
  std::mt19937_64 random(7);
  Samples s;
  for (int64_t k = 0; k < std::min(wanted, outputs); k++) {
    s.positions.push_back(k == 0 ? 0 : k == 1 ? outputs - 1 : static_cast<int64_t>(random() % outputs));
  }
  for (int64_t position : s.positions) {
    std::vector<int64_t> index;
    for (int64_t e : extents) index.push_back(position % e), position /= e;
    s.indices.push_back(index);
  }
  return s;
}

void check(const Case &c, const Expression &e, const Samples &samples, const Pool &pool,
           const std::vector<int64_t> &origins, const std::vector<double> &out, Row *row) {
  std::string name = e.fold.rfind("cum", 0) == 0 ? e.fold.substr(3) : e.fold;
  const bool wants_max = name == "max" || name == "argmax";
  const bool is_exact = wants_max || name == "min" || name == "argmin";
  double difference = 0, reference = 0, summands = 0;
  bool all_equal = true;
  for (size_t k = 0; k < samples.indices.size(); k++) {
    std::vector<int64_t> index = samples.indices[k];
    int64_t length = c.fold_length();
    if (is_scan(c)) {
      length = index[c.dims[0] - 1] + 1;
      index[c.dims[0] - 1] = 0;
    }
    Partial p = fold(c, e, pool, origins, index, length, wants_max);
    double ref = name.rfind("arg", 0) == 0 ? static_cast<double>(p.at)
                 : is_exact                ? p.best
                 : name == "prod"          ? p.product
                                           : static_cast<double>(p.sum);
    double d = out[k] - ref;
    all_equal = all_equal && out[k] == ref;
    difference += d * d, reference += ref * ref, summands += p.squares;
  }
  const bool is_sum = name == "sum";
  double scale = is_sum ? std::max(reference, summands) : reference;
  row->error = is_exact ? (all_equal ? 0 : 1) : scale > 0 ? std::sqrt(difference / scale) : std::sqrt(difference);
  // Rounding of a signed random sum of n grows slower than n^(1/4) in any blocked order; one summand lost in n costs
  // n^(-1/2) of the scale, and is seen up to n = 2^28 in float32.
  double accumulator = c.dtype == "f64" ? 0x1p-53 : 0x1p-24;
  double tolerance = is_exact ? 0 : 4 * unit_roundoff(c.out) + 4 * accumulator * std::pow(c.fold_length(), 0.25);
  row->correct = row->error <= tolerance;  // false for NaN
}

}  // namespace bench
