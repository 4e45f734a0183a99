// MatMulScan: an inclusive sum made of products of s x s matrices alone, two of which are constants. Zouzias and McColl 2023, "A Parallel
// Scan Algorithm in the Tensor Core Unit Model" (arXiv 2411.17887): Algorithm 1 for s^k numbers, section 2.2 for any number of them.
// The reference for what runs it on tensor cores, and what counts the products: nothing here is meant to be fast.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace tcu::cpu {

// Products of s x s matrices in all, and how many of them wait for one another (those of one round do not).
struct MatmulCounts {
  int64_t products = 0, depth = 0;
};

template <class T>
class MatmulScan {
 public:
  explicit MatmulScan(int s) : s_(s), sums_(size_t(s) * size_t(s)), adds_(sums_.size()), in_(sums_.size()), out_(sums_.size()) {
    for (int64_t row = 0; row < s; ++row)
      for (int64_t column = 0; column < s; ++column) {
        sums_[size_t(row * s + column)] = column <= row;
        adds_[size_t(row * s + column)] = column == 0 || column == row;
      }
  }

  // x[i] becomes x[0] + ... + x[i].
  MatmulCounts scan(T *x, int64_t n) {
    products_ = 0;
    if (n <= 0) return {};
    // n in base s: so many chunks of s^k, then of s^(k-1), ... The digits are found from the lowest, the chunks lie from the highest.
    int64_t k = 0, size = 1;
    while (size <= n / s_) size *= s_, ++k;
    struct Chunk {
      int64_t first, size;
    };
    std::vector<Chunk> chunks;
    for (int64_t first = 0, j = k; j >= 0; --j, size /= s_)
      for (; n - first >= size; first += size) {
        algorithm_1(x + first, j);
        chunks.push_back({first, size});
      }
    int64_t depth = rounds(k);
    if (chunks.size() == 1) return {products_, depth};
    // What each chunk comes to is there after the k rounds of its first phase, so that these are scanned beside its second one.
    int64_t q = 1, room = s_;
    while (room < int64_t(chunks.size())) room *= s_, ++q;
    std::vector<T> ends(size_t(room), T(0));
    for (size_t c = 0; c < chunks.size(); ++c) ends[c] = x[chunks[c].first + chunks[c].size - 1];
    algorithm_1(ends.data(), q);
    depth = std::max(depth, k + rounds(q)) + 1;
    for (size_t c = 1; c < chunks.size(); ++c) add(x + chunks[c].first, chunks[c].size, ends[c - 1]);
    return {products_, depth};
  }

 private:
  static int64_t rounds(int64_t k) { return k == 0 ? 0 : 2 * k - 1; }

  // Of s^k numbers. After round t of the first phase every s^(t+1)-th holds the sum of the s^(t+1) numbers that end there, and the last one
  // of all that of everything; the second phase adds to the numbers between these what comes before them.
  void algorithm_1(T *x, int64_t k) {
    int64_t n = 1, step = 1;
    for (int64_t t = 0; t < k; ++t) n *= s_;
    for (int64_t t = 0; t < k; ++t, step *= s_) multiply_all(sums_, x, n, step - 1, step);
    for (step /= s_; step > 1; step /= s_) multiply_all(adds_, x, n, step - 1, step / s_);
  }
  // BatchMatMul: x[start], x[start + step], ... as matrices of s columns of s neighbours, zeros past the end, each multiplied from
  // the left.
  void multiply_all(const std::vector<T> &constant, T *x, int64_t n, int64_t start, int64_t step) {
    const int64_t length = (n - start + step - 1) / step, each = int64_t(in_.size());
    for (int64_t first = 0; first < length; first += each) {
      T *const from = x + start + first * step;
      const int64_t here = std::min(each, length - first);
      std::fill(in_.begin(), in_.end(), T(0));
      for (int64_t i = 0; i < here; ++i) in_[size_t(i)] = from[i * step];
      multiply(constant);
      for (int64_t i = 0; i < here; ++i) from[i * step] = out_[size_t(i)];
    }
  }
  // x[i] += before: a column is `before` above s - 1 of the numbers.
  void add(T *x, int64_t n, T before) {
    const int64_t each = s_ * (s_ - 1);
    for (int64_t first = 0; first < n; first += each) {
      const int64_t here = std::min(each, n - first);
      const auto place = [&](int64_t i) { return size_t(i / (s_ - 1) * s_ + 1 + i % (s_ - 1)); };
      std::fill(in_.begin(), in_.end(), T(0));
      for (int64_t column = 0; column < s_; ++column) in_[size_t(column * s_)] = before;
      for (int64_t i = 0; i < here; ++i) in_[place(i)] = x[first + i];
      multiply(adds_);
      for (int64_t i = 0; i < here; ++i) x[first + i] = out_[place(i)];
    }
  }
  // out = constant in, the constant by rows, in and out by columns. Its zeros are no terms: 0 times an Inf is a NaN, which sums before
  // that Inf are not to have.
  void multiply(const std::vector<T> &constant) {
    for (int64_t column = 0; column < s_; ++column)
      for (int64_t row = 0; row < s_; ++row) {
        T sum = T(0);
        for (int64_t i = 0; i < s_; ++i)
          if (const T factor = constant[size_t(row * s_ + i)]; factor != T(0)) sum += factor * in_[size_t(column * s_ + i)];
        out_[size_t(column * s_ + row)] = sum;
      }
    ++products_;
  }

  int64_t s_, products_ = 0;
  std::vector<T> sums_, adds_;  // L_s and B_s of the paper
  std::vector<T> in_, out_;
};

}  // namespace tcu::cpu
