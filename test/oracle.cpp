#include "oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace oracle {

double identity(Fold op) {
  switch (op) {
    case Fold::prod:
    case Fold::all: return 1;
    case Fold::max: return -std::numeric_limits<double>::infinity();
    case Fold::min: return std::numeric_limits<double>::infinity();
    default: return 0;
  }
}

bool better(double x, double than, bool greatest) {
  if (std::isnan(than)) return false;
  if (std::isnan(x)) return true;
  if (x == 0 && than == 0) return greatest ? std::signbit(than) && !std::signbit(x) : std::signbit(x) && !std::signbit(than);
  return greatest ? x > than : x < than;
}

double combine(Fold op, double acc, double x) {
  switch (op) {
    case Fold::sum: return acc + x;
    case Fold::prod: return acc * x;
    case Fold::max: return better(x, acc, true) ? x : acc;
    case Fold::min: return better(x, acc, false) ? x : acc;
    case Fold::any: return acc != 0 || x != 0;
    case Fold::all: return acc != 0 && x != 0;
    default: return acc + (x != 0);
  }
}

namespace {

Sizes joint(const std::vector<Tensor> &inputs) {
  Sizes space;
  for (const Tensor &t : inputs) {
    space.resize(std::max(space.size(), t.extents.size()), 1);
    for (size_t m = 0; m < t.extents.size(); ++m)
      if (t.extents[m] != 1) space[m] = t.extents[m];
  }
  return space;
}

// f of the inputs' elements at an index.
class Value {
 public:
  Value(const std::vector<Tensor> &inputs, const Function &f) : inputs_(inputs), f_(f), x_(inputs.size()) {}
  double operator()(const Sizes &index) {
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = inputs_[i].at(index);
    return f_(x_);
  }

 private:
  const std::vector<Tensor> &inputs_;
  const Function &f_;
  std::vector<double> x_;
};

}  // namespace

std::vector<double> map(const Sizes &out, const std::vector<Tensor> &inputs, const Function &f) {
  std::vector<double> result;
  Value value(inputs, f);
  support::for_each_index(out, [&](const Sizes &i) { result.push_back(value(i)); });
  return result;
}

std::vector<double> of_each(const std::vector<Tensor> &inputs, const std::vector<int32_t> &dims, const Function &f,
                            const std::function<double(const std::vector<double> &)> &of) {
  const Sizes space = joint(inputs);
  Sizes out = space, inner(space.size(), 1), index(space.size());
  for (int32_t d : dims)
    if (size_t(d) < space.size()) inner[size_t(d)] = space[size_t(d)], out[size_t(d)] = 1;
  std::vector<double> result, elements;
  Value value(inputs, f);
  support::for_each_index(out, [&](const Sizes &kept) {
    elements.clear();
    support::for_each_index(inner, [&](const Sizes &reduced) {
      for (size_t m = 0; m < index.size(); ++m) index[m] = kept[m] + reduced[m];
      elements.push_back(value(index));
    });
    result.push_back(of(elements));
  });
  return result;
}

std::vector<double> reduce(Fold op, const std::vector<Tensor> &inputs, const std::vector<int32_t> &dims,
                           const Function &f) {
  return of_each(inputs, dims, f, [op](const std::vector<double> &elements) {
    double acc = identity(op), best = 0;
    int64_t position = 0, best_at = -1;
    for (const double x : elements) {
      const bool greatest = op == Fold::argmax;
      if (best_at < 0 || better(x, best, greatest)) best = x, best_at = position;
      acc = combine(op, acc, x);
      ++position;
    }
    return op == Fold::argmax || op == Fold::argmin ? double(best_at) : acc;
  });
}

double statistic(Fold op, const std::vector<double> &x, double correction) {
  const long double n = (long double)(x.size());
  long double sum = 0, squares = 0, exps = 0, top = -std::numeric_limits<long double>::infinity();
  bool nan = false;
  for (const double v : x) sum += v, squares += (long double)(v) * v, top = v > top ? v : top, nan |= std::isnan(v);
  if (op == Fold::mean) return double(sum / n);
  if (op == Fold::norm) return double(std::sqrt(squares));
  if (op == Fold::logsumexp || op == Fold::sumexp) {
    if (std::isinf(top) && !nan && op == Fold::logsumexp) return double(top);
    for (const double v : x) exps += std::exp(v - top);
    return double(op == Fold::sumexp ? exps : top + std::log(exps));
  }
  squares = 0;
  for (const double v : x) squares += (v - sum / n) * (v - sum / n);
  const long double variance = squares / std::max(n - correction, 0.0L);
  return double(op == Fold::std ? std::sqrt(variance) : variance);
}

std::vector<double> statistics(Fold op, const std::vector<Tensor> &inputs, const std::vector<int32_t> &dims, double correction,
                               const Function &f) {
  return of_each(inputs, dims, f, [=](const std::vector<double> &x) { return statistic(op, x, correction); });
}

double statistic_error(Fold op, const std::vector<double> &x, double correction, double eps) {
  std::vector<double> size = x;
  for (double &v : size) v = std::abs(v);
  const double result = op == Fold::mean ? statistic(op, size, 0) : std::abs(statistic(op, x, correction));
  return eps * (32 + std::sqrt(double(x.size()))) * (op == Fold::logsumexp ? std::max(result, 1.0) : result);
}

std::vector<double> statistic_errors(Fold op, const std::vector<Tensor> &inputs, const std::vector<int32_t> &dims,
                                     double correction, double eps, const Function &f) {
  return of_each(inputs, dims, f, [=](const std::vector<double> &x) { return statistic_error(op, x, correction, eps); });
}

std::vector<double> scan(Fold op, const Sizes &out, const std::vector<Tensor> &inputs, const Scan &how, double init,
                         const Function &f) {
  std::vector<double> result;
  Value value(inputs, f);
  Sizes index;
  const size_t d = size_t(how.dim);
  support::for_each_index(out, [&](const Sizes &at) {
    double acc = init;
    const int64_t n = d < out.size() ? out[d] : 1, here = d < at.size() ? at[d] : 0;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t j = how.reverse ? n - 1 - k : k;
      if (how.exclusive && j == here) break;
      index = at;
      if (d < index.size()) index[d] = j;
      acc = combine(op, acc, value(index));
      if (j == here) break;
    }
    result.push_back(acc);
  });
  return result;
}

}  // namespace oracle
