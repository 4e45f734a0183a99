#include "check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>

namespace bench {
namespace {

// What is known of some elements; parts join in order.
struct Partial : Totals {
  long double exponentials = 0;
  double product = 1, best = 0;
  double factor = 1, term = 0;  // of a recurrence: factor * what came before + term
  int64_t at = -1;              // of best
};

// The folds of cases.json (a scan's without its 'cum'), from a Partial of n elements. The bench's numbers are small: no exp of
// them overflows, and no mean is large against the deviation.
struct Fold {
  enum { plain = 0, exact = 1, wants_max = 2, wants_exponentials = 4 };
  const char *name;
  double (*value)(const Partial &p, double n);
  int traits = plain;
  double (*summands)(const Partial &p, double n) = nullptr;  // their squared norm, where they may cancel
  double (*magnitude)(const Partial &p, double n) = nullptr;  // the value, were none negative; there too

  bool is_better(double x, double y) const { return traits & wants_max ? x > y : x < y; }
  void take(Partial &p, double first, double x, int64_t position) const {
    p.factor *= first, p.term = first * p.term + x;
    p.add(x), p.product *= x;
    if (traits & wants_exponentials) p.exponentials += std::exp(x);
    if (p.at < 0 || is_better(x, p.best)) p.best = x, p.at = position;
  }
  void join(Partial &p, const Partial &later) const {
    p.factor *= later.factor, p.term = later.factor * p.term + later.term;
    p.sum += later.sum, p.product *= later.product, p.squares += later.squares, p.magnitudes += later.magnitudes;
    p.exponentials += later.exponentials;
    if (later.at >= 0 && (p.at < 0 || is_better(later.best, p.best))) p.best = later.best, p.at = later.at;
  }
};
double sum(const Partial &p, double) { return p.sum; }
double mean(const Partial &p, double n) { return p.sum / n; }
double variance(const Partial &p, double n) { return (p.squares - p.sum * p.sum / n) / (n - 1); }
double best(const Partial &p, double) { return p.best; }
double position(const Partial &p, double) { return p.at; }
const Fold folds[] = {
    {"", sum},  // a broadcast: its one element
    {"sum", sum, Fold::plain, [](const Partial &p, double) -> double { return p.squares; },
     [](const Partial &p, double) -> double { return p.magnitudes; }},
    {"mean", mean, Fold::plain, [](const Partial &p, double n) -> double { return p.squares / n / n; },
     [](const Partial &p, double n) -> double { return p.magnitudes / n; }},
    {"recurrence", [](const Partial &p, double) { return p.term; }},
    {"prod", [](const Partial &p, double) { return p.product; }},
    {"max", best, Fold::exact | Fold::wants_max},
    {"min", best, Fold::exact},
    {"argmax", position, Fold::exact | Fold::wants_max},
    {"argmin", position, Fold::exact},
    {"var", variance},
    {"std", [](const Partial &p, double n) { return std::sqrt(variance(p, n)); }},
    {"norm", [](const Partial &p, double) -> double { return std::sqrt(p.squares); }},
    {"logsumexp", [](const Partial &p, double) -> double { return std::log(p.exponentials); }, Fold::wants_exponentials},
};
const Fold &fold_named(const std::string &text) {
  const std::string name = text.rfind("cum", 0) == 0 ? text.substr(3) : text;
  for (const Fold &f : folds) {
    if (name == f.name) return f;
  }
  throw std::invalid_argument("fold '" + text + "' is not in bench/runner/check.cpp");
}

// Folds positions [from, to) of the folded dims (the lowest fastest), the other dims at index.
Partial fold_range(const Case &c, const Expression &e, const Pool &pool, const std::vector<int64_t> &origins,
                   std::vector<int64_t> index, int64_t from, int64_t to, const Fold &f) {
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
    const double x = e.is_identity() ? values[0] : e.run(values.data(), e.tapes.size() - 1);
    f.take(p, e.tapes.size() == 1 ? 0 : e.run(values.data(), 0), x, position);
    for (int d : dims) {  // step to the next index
      bool carries = ++index[d - 1] == c.shape[d - 1];
      for (size_t j = 0; j < n; j++) at[j] += carries ? (1 - c.shape[d - 1]) * stride(j, d) : stride(j, d);
      if (!carries) break;
      index[d - 1] = 0;
    }
  }
  return p;
}

// Of the one input, unchanged: where the positions of the folded dims begin, if they follow each other there; else -1.
int64_t run_of(const Case &c, const Expression &e, const std::vector<int64_t> &origins, const std::vector<int64_t> &index) {
  const View &v = c.inputs[0];
  if (!e.is_identity() || v.shape != c.shape) return -1;
  std::vector<int> dims = c.dims;
  std::sort(dims.begin(), dims.end());
  int64_t at = origins[0] + v.offset, step = 1;
  for (int d : dims) {
    if (v.strides[d - 1] != step && v.shape[d - 1] != 1) return -1;
    step *= v.shape[d - 1];
  }
  for (size_t d = 0; d < c.shape.size(); d++) at += index[d] * v.strides[d];
  return at;
}

Partial fold(const Case &c, const Expression &e, const Pool &pool, const std::vector<int64_t> &origins,
             const std::vector<int64_t> &index, int64_t length, const Fold &f) {
  if (const int64_t run = f.summands ? run_of(c, e, origins, index) : -1; run >= 0) return {pool.totals(run, length)};
  const int64_t threads = length < (1 << 16) ? 1 : std::max(1u, std::thread::hardware_concurrency());
  std::vector<Partial> parts(threads);
  std::vector<std::thread> workers;
  for (int64_t t = 0; t < threads; t++) {
    auto work = [&, t] {
      parts[t] = fold_range(c, e, pool, origins, index, length * t / threads, length * (t + 1) / threads, f);
    };
    if (threads == 1)
      work();
    else
      workers.emplace_back(work);
  }
  for (std::thread &w : workers) w.join();
  for (int64_t t = 1; t < threads; t++) f.join(parts[0], parts[t]);
  return parts[0];
}

bool is_scan(const Case &c) { return c.family == "scan" || c.family == "segmented_scan"; }

double unit_roundoff(const std::string &dtype) {
  static const std::map<std::string, double> units = {{"f8e5m2", 0x1p-3}, {"f8e4m3", 0x1p-4}, {"bf16", 0x1p-8},
                                                      {"f16", 0x1p-11},   {"f32", 0x1p-24},   {"f64", 0x1p-53}};
  const auto found = units.find(dtype);
  return found == units.end() ? 0 : found->second;
}

}  // namespace

Reference make_reference(const Case &c, const Expression &e, const Pool &pool, const std::vector<int64_t> &origins, int64_t most,
                         int64_t work) {
  const Fold &f = fold_named(e.fold);
  const std::vector<int64_t> extents = c.out_shape();
  int64_t outputs = 1;
  for (int64_t extent : extents) outputs *= extent;
  const int64_t wanted = std::min(outputs, std::clamp<int64_t>(work / std::max<int64_t>(c.fold_length(), 1), 3, most));
  std::mt19937_64 random(7);
  Reference r;
  std::vector<Expression> each{e};  // of the results of a map
  if (c.results() > 1) {
    each.clear();
    for (const std::vector<Step> &tape : e.tapes) each.push_back({e.fold, {tape}});
  }
  std::vector<std::vector<double>> values(each.size());
  double norm = 0, summands = 0;
  for (int64_t k = 0; k < wanted; k++) {
    int64_t position = k == 0 ? 0 : k == 1 ? outputs - 1 : static_cast<int64_t>(random() % outputs);
    r.positions.push_back(position);
    std::vector<int64_t> index;
    for (int64_t extent : extents) index.push_back(position % extent), position /= extent;
    int64_t length = c.fold_length();
    if (is_scan(c)) {
      length = index[c.dims[0] - 1] + 1;
      index[c.dims[0] - 1] = 0;
    }
    for (size_t i = 0; i < each.size(); i++) {
      const Partial p = fold(c, each[i], pool, origins, index, length, f);
      const double value = f.value(p, static_cast<double>(length));
      values[i].push_back(value);
      norm += value * value;
      if (f.summands) {
        summands += f.summands(p, static_cast<double>(length));
        r.magnitudes.push_back(f.magnitude(p, static_cast<double>(length)));
      }
    }
  }
  for (const std::vector<double> &of : values) r.values.insert(r.values.end(), of.begin(), of.end());  // one result after another
  r.scale = std::max(norm, summands);
  r.is_exact = f.traits & Fold::exact;
  // Rounding of a signed random sum of n grows slower than n^(1/4) in any blocked order; one summand lost in n costs
  // n^(-1/2) of the scale, and is seen up to n = 2^28 in float32.
  const double accumulator = c.dtype == "f64" ? 0x1p-53 : 0x1p-24;
  const auto growing_as = [&](double power) { return r.is_exact ? 0 : 4 * unit_roundoff(c.out) + 4 * accumulator * std::pow(c.fold_length(), power); };
  r.tolerance = growing_as(0.25);
  r.serial_tolerance = growing_as(0.5);
  return r;
}

// Scans of lines side by side, of which a thread goes down its own.
bool adds_serially(const std::string &kernel) { return kernel == "scan.lines" || kernel == "scan.short" || kernel == "scan.general"; }

void check(const Reference &reference, const std::vector<double> &out, Row *row) {
  double difference = 0;
  for (size_t k = 0; k < out.size(); k++) {
    const double d = out[k] - reference.values[k];
    difference += reference.is_exact ? out[k] != reference.values[k] : d * d;
  }
  for (size_t k = 0; k < reference.magnitudes.size(); k++) {
    row->error_over_magnitudes = std::max(row->error_over_magnitudes, std::fabs(out[k] - reference.values[k]) / reference.magnitudes[k]);
  }
  row->error = reference.is_exact ? difference > 0 : std::sqrt(reference.scale > 0 ? difference / reference.scale : difference);
  row->correct = row->error <= (adds_serially(row->kernel) ? reference.serial_tolerance : reference.tolerance);  // false for NaN
}

}  // namespace bench
