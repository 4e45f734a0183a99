// The slow and obvious meaning of map, reduce and scan: one loop over index tuples, in float64, a function call an element.
// Results come in the order of support::for_each_index over the output's extents.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "support.h"

namespace oracle {

using support::Sizes;

struct Tensor {
  Sizes extents, strides;    // in elements
  std::vector<double> data;  // the element with all indices zero is data[base]
  int64_t base = 0;

  Tensor(Sizes e, std::vector<double> values) : extents(e), strides(support::dense(e)), data(std::move(values)) {}
  Tensor(Sizes e, Sizes s, std::vector<double> values, int64_t at = 0)
      : extents(std::move(e)), strides(std::move(s)), data(std::move(values)), base(at) {}

  // The element that an index of the joint space stands for: a mode of extent 1, or beyond the rank, is broadcast.
  double at(const Sizes &index) const {
    int64_t offset = base;
    for (size_t m = 0; m < extents.size(); ++m)
      if (extents[m] != 1) offset += index[m] * strides[m];
    return data.at(size_t(offset));
  }
};

using Function = std::function<double(const std::vector<double> &)>;
inline double first(const std::vector<double> &x) { return x[0]; }

enum class Fold { sum, prod, max, min, any, all, count, argmax, argmin, mean, var, std, norm, logsumexp, sumexp };

inline double identity(Fold op) {
  switch (op) {
    case Fold::prod:
    case Fold::all: return 1;
    case Fold::max: return -std::numeric_limits<double>::infinity();
    case Fold::min: return std::numeric_limits<double>::infinity();
    default: return 0;
  }
}

// max, min and the arg-reductions take NaN when there is one, and -0.0 < 0.0.
inline bool better(double x, double than, bool greatest) {
  if (std::isnan(than)) return false;
  if (std::isnan(x)) return true;
  if (x == 0 && than == 0) return greatest ? std::signbit(than) && !std::signbit(x) : std::signbit(x) && !std::signbit(than);
  return greatest ? x > than : x < than;
}

inline double combine(Fold op, double acc, double x) {
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

inline Sizes joint(const std::vector<Tensor> &inputs) {
  Sizes space;
  for (const Tensor &t : inputs) {
    space.resize(std::max(space.size(), t.extents.size()), 1);
    for (size_t m = 0; m < t.extents.size(); ++m)
      if (t.extents[m] != 1) space[m] = t.extents[m];
  }
  return space;
}

inline double value(const std::vector<Tensor> &inputs, const Function &f, const Sizes &index) {
  std::vector<double> x;
  for (const Tensor &t : inputs) x.push_back(t.at(index));
  return f(x);
}

inline std::vector<double> map(const Sizes &out, const std::vector<Tensor> &inputs, const Function &f = first) {
  std::vector<double> result;
  support::for_each_index(out, [&](const Sizes &i) { result.push_back(value(inputs, f, i)); });
  return result;
}

// For each output, what of() makes of the elements that belong to it, the lowest reduced mode fastest.
inline std::vector<double> of_each(const std::vector<Tensor> &inputs, const std::vector<int32_t> &dims, const Function &f,
                                   const std::function<double(const std::vector<double> &)> &of) {
  const Sizes space = joint(inputs);
  Sizes out = space, inner(space.size(), 1);
  for (int32_t d : dims)
    if (size_t(d) < space.size()) inner[size_t(d)] = space[size_t(d)], out[size_t(d)] = 1;
  std::vector<double> result;
  support::for_each_index(out, [&](const Sizes &kept) {
    std::vector<double> elements;
    support::for_each_index(inner, [&](const Sizes &reduced) {
      Sizes index = kept;
      for (size_t m = 0; m < index.size(); ++m) index[m] += reduced[m];
      elements.push_back(value(inputs, f, index));
    });
    result.push_back(of(elements));
  });
  return result;
}

// Positions of argmax and argmin count over the reduced modes.
inline std::vector<double> reduce(Fold op, const std::vector<Tensor> &inputs, const std::vector<int32_t> &dims,
                                  const Function &f = first) {
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

// mean and those after it, by their definitions.
inline double statistic(Fold op, const std::vector<double> &x, double correction) {
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
inline std::vector<double> statistics(Fold op, const std::vector<Tensor> &inputs, const std::vector<int32_t> &dims, double correction,
                                      const Function &f = first) {
  return of_each(inputs, dims, f, [=](const std::vector<double> &x) { return statistic(op, x, correction); });
}
// How far float arithmetic of `eps` may be off, for elements that are not far apart: relative to the result, of a mean to that of
// the absolute values, of a logarithm to 1 at the least. 32 eps, and sqrt(n) of them, since errors of additions are as good as random.
inline double statistic_error(Fold op, const std::vector<double> &x, double correction, double eps) {
  std::vector<double> size = x;
  for (double &v : size) v = std::abs(v);
  const double result = op == Fold::mean ? statistic(op, size, 0) : std::abs(statistic(op, x, correction));
  return eps * (32 + std::sqrt(double(x.size()))) * (op == Fold::logsumexp ? std::max(result, 1.0) : result);
}
inline std::vector<double> statistic_errors(Fold op, const std::vector<Tensor> &inputs, const std::vector<int32_t> &dims,
                                            double correction, double eps, const Function &f = first) {
  return of_each(inputs, dims, f, [=](const std::vector<double> &x) { return statistic_error(op, x, correction, eps); });
}

struct Scan {
  int dim = 0;
  bool exclusive = false, reverse = false;
};
inline std::vector<double> scan(Fold op, const Sizes &out, const std::vector<Tensor> &inputs, const Scan &how, double init,
                                const Function &f = first) {
  std::vector<double> result;
  const size_t d = size_t(how.dim);
  support::for_each_index(out, [&](const Sizes &at) {
    double acc = init;
    const int64_t n = d < out.size() ? out[d] : 1, here = d < at.size() ? at[d] : 0;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t j = how.reverse ? n - 1 - k : k;
      if (how.exclusive && j == here) break;
      Sizes index = at;
      if (d < index.size()) index[d] = j;
      acc = combine(op, acc, value(inputs, f, index));
      if (j == here) break;
    }
    result.push_back(acc);
  });
  return result;
}

// The same line by line, where step(acc, values of the inputs) gives what comes out of an exclusive scan and what out of an inclusive one.
// (scan above starts again at every element.) In the order of the outputs' memory, dense.
template <class Step>
std::vector<double> scan_lines(const Sizes &extents, const std::vector<Tensor> &inputs, const Scan &how, double start, Step step) {
  const Sizes at = support::dense(extents);
  const size_t d = size_t(how.dim);
  const int64_t n = d < extents.size() ? extents[d] : 1, stride = d < extents.size() ? at[d] : 0;
  Sizes kept = extents;
  if (d < kept.size()) kept[d] = std::min<int64_t>(n, 1);
  std::vector<double> result(size_t(support::product(extents))), x(inputs.size());
  support::for_each_index(kept, [&](const Sizes &line) {
    double acc = start;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t j = how.reverse ? n - 1 - k : k;
      Sizes index = line;
      if (d < index.size()) index[d] = j;
      for (size_t i = 0; i < x.size(); ++i) x[i] = inputs[i].at(index);
      const std::pair<double, double> y = step(acc, x);
      result[size_t(support::offset(line, at) + j * stride)] = how.exclusive ? y.first : y.second;
      acc = y.second;
    }
  });
  return result;
}
// Of a flag that begins a segment, and an element; and y = factor * y + x.
inline auto segmented(Fold op, double start) {
  return [op, start](double acc, const std::vector<double> &x) {
    const double before = x[0] != 0 ? start : acc;
    return std::pair(before, combine(op, before, x[1]));
  };
}
inline auto recurrence() {
  return [](double acc, const std::vector<double> &x) { return std::pair(acc, x[0] * acc + x[1]); };
}

}  // namespace oracle
