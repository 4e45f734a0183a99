// The slow and obvious meaning of map, reduce and scan: one loop over index tuples, in float64, a function call an element (oracle.cpp, which
// is compiled with optimization: most of the time of many tests is its).
// Results come in the order of support::for_each_index over the output's extents.
#pragma once
#include <algorithm>
#include <functional>
#include <utility>
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

double identity(Fold op);
// max, min and the arg-reductions take NaN when there is one, and -0.0 < 0.0.
bool better(double x, double than, bool greatest);
double combine(Fold op, double acc, double x);

std::vector<double> map(const Sizes &out, const std::vector<Tensor> &inputs, const Function &f = first);

// For each output, what of() makes of the elements that belong to it, the lowest reduced mode fastest.
std::vector<double> of_each(const std::vector<Tensor> &inputs, const std::vector<int32_t> &dims, const Function &f,
                            const std::function<double(const std::vector<double> &)> &of);

// Positions of argmax and argmin count over the reduced modes.
std::vector<double> reduce(Fold op, const std::vector<Tensor> &inputs, const std::vector<int32_t> &dims,
                           const Function &f = first);

// mean and those after it, by their definitions.
double statistic(Fold op, const std::vector<double> &x, double correction);
std::vector<double> statistics(Fold op, const std::vector<Tensor> &inputs, const std::vector<int32_t> &dims, double correction,
                               const Function &f = first);
// How far float arithmetic of `eps` may be off, for elements that are not far apart: relative to the result, of a mean to that of
// the absolute values, of a logarithm to 1 at the least. 32 eps, and sqrt(n) of them, since errors of additions are as good as random.
double statistic_error(Fold op, const std::vector<double> &x, double correction, double eps);
std::vector<double> statistic_errors(Fold op, const std::vector<Tensor> &inputs, const std::vector<int32_t> &dims,
                                     double correction, double eps, const Function &f = first);

struct Scan {
  int dim = 0;
  bool exclusive = false, reverse = false;
};
std::vector<double> scan(Fold op, const Sizes &out, const std::vector<Tensor> &inputs, const Scan &how, double init,
                         const Function &f = first);

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
