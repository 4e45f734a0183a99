// A strided tensor in a context's memory, in any dtype, and its values in float64.
#pragma once
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/scalar.h"
#include "oracle.h"
#include "tcuops.h"

namespace tensors {

using support::Rng;
using support::Sizes;

// One element as a double, and back, by dtype.
template <class F>
auto with_type(tcu_dtype_t d, F f) {
  switch (d) {
    case TCU_BOOL: return f(bool{});
    case TCU_INT8: return f(int8_t{});
    case TCU_INT16: return f(int16_t{});
    case TCU_INT32: return f(int32_t{});
    case TCU_INT64: return f(int64_t{});
    case TCU_UINT8: return f(uint8_t{});
    case TCU_UINT16: return f(uint16_t{});
    case TCU_UINT32: return f(uint32_t{});
    case TCU_UINT64: return f(uint64_t{});
    case TCU_FLOAT16: return f(tcu::f16_t{});
    case TCU_BFLOAT16: return f(tcu::bf16_t{});
    case TCU_FLOAT8_E4M3: return f(tcu::f8e4m3_t{});
    case TCU_FLOAT8_E5M2: return f(tcu::f8e5m2_t{});
    case TCU_FLOAT32: return f(float{});
    default: return f(double{});
  }
}
void encode(tcu_dtype_t d, void *to, double x);
double decode(tcu_dtype_t d, const void *from);
double rounded(tcu_dtype_t d, double x);

// Which mode is the fastest: the first, mostly; the last, and so on; or whichever.
enum class Order { first, reversed, shuffled };

// A strided tensor inside a larger allocation: margins before and after, gaps, elements in any order.
class Tensor {
 public:
  // zero: strides of 0 may occur. plain: dense, as a caller's tensor mostly is.
  Tensor(tcu_context_t context, Rng &rng, tcu_dtype_t dtype, const Sizes &e, bool zero, bool plain, Order modes = Order::first)
      : dtype(dtype), extents(e), strides(e.size(), 0), size(size_t(tcu_dtype_bytes(dtype))), context_(context) {
    std::vector<size_t> order(e.size());
    for (size_t m = 0; m < order.size(); ++m) order[m] = m;
    if (modes == Order::reversed) std::reverse(order.begin(), order.end());
    else if (modes == Order::shuffled || (!plain && support::chance(rng, 40)))
      for (size_t m = order.size(); m > 1; --m) std::swap(order[m - 1], order[rng() % m]);
    int64_t step = 1, lowest = 0, highest = 0;
    for (size_t m : order) {
      if (!plain && support::chance(rng, 15)) step *= support::pick(rng, 2, 3);
      if (zero && support::chance(rng, 15)) continue;
      strides[m] = !plain && support::chance(rng, 15) ? -step : step;
      const int64_t reach = (std::max<int64_t>(e[m], 1) - 1) * strides[m];
      (reach < 0 ? lowest : highest) += reach;
      step *= std::max<int64_t>(e[m], 1);
      if (!plain && support::chance(rng, 15)) step += support::pick(rng, 1, 5);
    }
    const int64_t margin = support::chance(rng, 50) ? 0 : support::pick(rng, 1, 40);
    base = margin - lowest;
    allocate(margin + highest - lowest + 1 + margin);
  }
  Tensor(const Tensor &) = delete;
  ~Tensor() { tcu_free(context_, memory, nullptr); }

  // Beside `other`, in its layout: for a second result.
  Tensor(Rng &rng, tcu_dtype_t dtype, const Tensor &other)
      : dtype(dtype), extents(other.extents), strides(other.strides), size(size_t(tcu_dtype_bytes(dtype))), context_(other.context_) {
    const int64_t margin = support::pick(rng, 0, 40), elements = int64_t(other.bytes.size() / other.size);
    base = margin + other.base;
    allocate(margin + elements + margin);
  }

  // To its first n in a mode: rows that begin anywhere.
  Tensor &narrow(size_t mode, int64_t n) { return extents[mode] = n, *this; }

  template <class F>
  void fill(F value) {
    support::for_each_index(extents, [&](const Sizes &i) { encode(dtype, at(i), value()); });
    upload();
  }
  void upload() { copy(memory, bytes.data()); }
  std::vector<unsigned char> download() const {
    std::vector<unsigned char> now(bytes.size());
    copy(now.data(), memory);
    return now;
  }
  void *at(const Sizes &i) { return bytes.data() + size_t(base + support::offset(i, strides)) * size; }
  oracle::Tensor values() const {
    std::vector<double> data(bytes.size() / size);
    for (size_t i = 0; i < data.size(); ++i) data[i] = decode(dtype, bytes.data() + i * size);
    return {extents, strides, data, base};
  }
  tcu_tensor_t view() const {
    return {static_cast<unsigned char *>(memory) + size_t(base) * size, extents.data(), strides.data(), dtype, int32_t(extents.size())};
  }
  std::string text() const {
    std::string s = std::string(tcu_dtype_name(dtype)) + "(";
    for (size_t m = 0; m < extents.size(); ++m) s += (m ? "," : "") + std::to_string(extents[m]) + ":" + std::to_string(strides[m]);
    return s + ")@" + std::to_string(base);
  }

  tcu_dtype_t dtype;
  Sizes extents, strides;
  size_t size;
  int64_t base = 0;
  std::vector<unsigned char> bytes;  // the host's copy
  void *memory = nullptr;

 private:
  tcu_context_t context_;
  void allocate(int64_t elements) {
    bytes.assign(size_t(elements) * size, 1);  // what is not written must stay so
    if (tcu_malloc(context_, &memory, bytes.size(), nullptr) != TCU_OK) throw std::runtime_error(tcu_last_error());
  }
  void copy(void *to, const void *from) const {
    if (tcu_copy(context_, to, from, bytes.size(), nullptr) != TCU_OK) throw std::runtime_error(tcu_last_error());
  }
};

inline int64_t base_of(const Tensor &t, const Sizes &i) { return (t.base + support::offset(i, t.strides)) * int64_t(t.size); }

}  // namespace tensors
