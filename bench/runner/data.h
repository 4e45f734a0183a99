// Random operands. One pool of device memory per dtype holds every operand of every case: element i of the pool is
// element i % period of a random block that the host keeps, so that nothing large is generated, uploaded or read back.
#pragma once
#include <string>
#include <vector>

#include "library.h"

namespace bench {

tcu_dtype_t dtype_of(const std::string &name);  // "f32" -> TCU_FLOAT32; throws std::invalid_argument

// One element as float64 and back, for every dtype but the complex ones. int64 past 2^53 is not used here.
double load_element(tcu_dtype_t dtype, const void *from);
void store_element(tcu_dtype_t dtype, double value, void *to);

class Pool {
 public:
  // A prime, so that no segment or row length makes operands repeat; small enough to be made in no time.
  static constexpr int64_t period = 4194301;

  explicit Pool(const Device &device) : device_(device), buffer_(device) {}

  // Makes at least elements of dtype available. Floats are uniform in [-1, 1), in [0, 1) (data "uniform01") or normal with a
  // variance of 1 ("normal"); integers in [-100, 100] or [0, 100]. The data stay as first asked for.
  void prepare(tcu_dtype_t dtype, const std::string &data, int64_t elements);
  void *device_at(int64_t element) const { return buffer_.at(element * tcu_dtype_bytes(dtype_)); }
  double host_at(int64_t element) const { return block_[element % period]; }

 private:
  const Device &device_;
  Buffer buffer_;
  tcu_dtype_t dtype_ = 0;
  int64_t filled_ = 0;         // elements
  std::vector<double> block_;  // what the device holds, exactly
};

}  // namespace bench
