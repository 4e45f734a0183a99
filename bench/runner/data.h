// Random operands. One pool of device memory per dtype holds every operand of every case: element i of the pool is
// element i % period of a random block that the host keeps, so that nothing large is generated, uploaded or read back.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "library.h"

namespace bench {

tcu_dtype_t dtype_of(const std::string &name);  // "f32" -> TCU_FLOAT32; throws std::invalid_argument

// One element as float64 and back, for every dtype but the complex ones. int64 past 2^53 is not used here.
double load_element(tcu_dtype_t dtype, const void *from);
void store_element(tcu_dtype_t dtype, double value, void *to);

// What a run of a pool's elements adds up to. Wider than float64 where long double is, for its own rounding would else pass for that of
// a float64 result.
struct Totals {
  long double sum = 0, squares = 0, magnitudes = 0;
  void add(double x) { sum += x, squares += static_cast<long double>(x) * x, magnitudes += std::fabs(x); }
  void add(const Totals &t, long double times = 1) {
    sum += times * t.sum, squares += times * t.squares, magnitudes += times * t.magnitudes;
  }
};

class Pool {
 public:
  // A prime, so that no segment or row length makes operands repeat; small enough to be made in no time.
  static constexpr int64_t period = 4194301;

  explicit Pool(const Device &device) : device_(device), buffer_(device) {}

  // Makes at least elements of dtype available. Floats are uniform in [-1, 1), integers in [-100, 100] or [0, 100]; or, by `data`, of a
  // float uniform in [0, 1) ("uniform01"), normal with a variance of 1 ("normal"), large ones of alternating sign with something small
  // added ("alternating"), small ones with a large one in each period ("outlier"), all the largest ("largest"), as
  // test/cuda/test_tensor.cpp has them. The data stay as first asked for.
  void prepare(tcu_dtype_t dtype, const std::string &data, int64_t elements);
  void *device_at(int64_t element) const { return buffer_.at(element * tcu_dtype_bytes(dtype_)); }
  double host_at(int64_t element) const { return block_[element % period]; }
  // Of n elements from `first` on: whole periods, and whole parts of one, are not added up again.
  Totals totals(int64_t first, int64_t n) const;

 private:
  const Device &device_;
  Buffer buffer_;
  tcu_dtype_t dtype_ = 0;
  int64_t filled_ = 0;         // elements
  std::vector<double> block_;  // what the device holds, exactly
  static constexpr int64_t part = 1024;
  std::vector<Totals> parts_;  // of each `part` elements of the block; the last are fewer
  Totals all_;                 // of the block
};

}  // namespace bench
