// Typed tensors with random layouts for the CPU backend's tests, and one place that runs a problem on every row that takes it.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "core/error.h"
#include "core/rewrites.h"
#include "oracle.h"
#include "plan/planner.h"

namespace cpu_test {
using namespace support;
using tcu::DType, tcu::f16_t, tcu::bf16_t, tcu::f8e4m3_t, tcu::f8e5m2_t, tcu::c64_t, tcu::c128_t;

inline tcu::Planner &planner() {
  static tcu::Planner p(tcu::make_cpu_backend(0));
  return p;
}

inline double load(DType d, const void *at) {
  switch (d) {
#define TCU_DTYPE(id, NAME, name, storage, ...)                              \
  case DType::name: {                                                        \
    storage v;                                                               \
    std::memcpy(&v, at, sizeof v);                                           \
    return tcu::convert<double>(v);                                          \
  }
#include "core/dtypes.def"
#undef TCU_DTYPE
    default: return 0;
  }
}
inline void save(DType d, void *at, double x) {
  switch (d) {
#define TCU_DTYPE(id, NAME, name, storage, ...)                              \
  case DType::name: {                                                        \
    const storage v = tcu::convert<storage>(x);                              \
    std::memcpy(at, &v, sizeof v);                                           \
    return;                                                                  \
  }
#include "core/dtypes.def"
#undef TCU_DTYPE
    default: return;
  }
}
// What is left of x when it is stored as d.
inline double rounded(DType d, double x) {
  unsigned char cell[16];
  save(d, cell, x);
  return load(d, cell);
}

inline std::vector<DType> all_dtypes(bool complex = true) {
  std::vector<DType> list;
  for (int d = 1; d < tcu::kDTypeEnd; ++d)
    if (complex || tcu::kind_of(DType(d)) != tcu::Kind::Complex) list.push_back(DType(d));
  return list;
}

// A tensor in a block of exactly its span, so that a sanitizer sees any access outside; canaries lie in its gaps.
struct Tensor {
  DType dtype;
  Sizes extents, strides;
  int64_t base = 0, span = 0;  // in elements
  std::unique_ptr<unsigned char[]> bytes;

  Tensor(DType d, Sizes e, Sizes s) : dtype(d), extents(std::move(e)), strides(std::move(s)) {
    int64_t low = 0, high = 0;
    bool empty = false;
    for (size_t m = 0; m < extents.size(); ++m) {
      empty |= extents[m] == 0;
      (strides[m] < 0 ? low : high) += (extents[m] - 1) * strides[m];
    }
    base = empty ? 0 : -low, span = empty ? 0 : high - low + 1;
    bytes.reset(new unsigned char[size_t(span * size()) + 1]);
    std::memset(bytes.get(), 0xA5, size_t(span * size()) + 1);
  }
  int size() const { return tcu::bytes_of(dtype); }
  unsigned char *at(const Sizes &index) const { return bytes.get() + (base + offset(index, strides)) * size(); }
  tcu::TensorView view() const {
    return {bytes.get() + base * size(), dtype, int(extents.size()), extents.data(), strides.data()};
  }
  template <class F>
  void fill(F &&f) {
    for_each_index(extents, [&](const Sizes &i) { save(dtype, at(i), f(i)); });
  }
  oracle::Tensor as_doubles() const {
    std::vector<double> values(size_t(std::max<int64_t>(span, 1)), 0);
    for_each_index(extents, [&](const Sizes &i) { values[size_t(base + offset(i, strides))] = load(dtype, at(i)); });
    return oracle::Tensor(extents, strides, std::move(values), base);
  }
  std::vector<double> values() const {
    std::vector<double> v;
    for_each_index(extents, [&](const Sizes &i) { v.push_back(load(dtype, at(i))); });
    return v;
  }
  // Whether no byte outside the elements has changed since the canaries were laid.
  bool gaps_intact() const {
    std::vector<bool> element(size_t(span), false);
    for_each_index(extents, [&](const Sizes &i) { element[size_t(base + offset(i, strides))] = true; });
    for (int64_t k = 0; k < span; ++k)
      for (int b = 0; b < size() && !element[size_t(k)]; ++b)
        if (bytes[size_t(k * size() + b)] != 0xA5) return false;
    return bytes[size_t(span * size())] == 0xA5;
  }
};

inline int64_t extent(Rng &rng, int64_t room) {
  const int64_t interesting[] = {1, 2, 3, 4, 5, 7, 8, 13, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257, 1000, 1023, 1025, 4099};
  for (;;) {
    const int64_t e = one_of(rng, interesting);
    if (e <= room) return e;
  }
}
inline Sizes shape(Rng &rng, int max_rank, int64_t room) {
  Sizes e;
  const int rank = int(pick(rng, 0, max_rank));
  for (int m = 0; m < rank; ++m) {
    e.push_back(extent(rng, std::max<int64_t>(room, 1)));
    room /= e.back();
  }
  if (rank > 0 && chance(rng, 3)) e[size_t(pick(rng, 0, rank - 1))] = 0;
  return e;
}
// Dense, or with gaps, permuted, reversed; for an input also with strides of zero.
inline Sizes layout(Rng &rng, const Sizes &extents, bool zeros) {
  Sizes strides(extents.size(), 0);
  std::vector<size_t> order;
  for (size_t m = 0; m < extents.size(); ++m) order.push_back(m);
  if (chance(rng, 40)) std::shuffle(order.begin(), order.end(), rng);
  const bool gaps = chance(rng, 40), turned = chance(rng, 30);
  int64_t step = gaps ? pick(rng, 1, 3) : 1;
  for (size_t m : order) {
    strides[m] = turned && chance(rng, 50) ? -step : step;
    if (zeros && chance(rng, 10)) strides[m] = 0;
    step = step * std::max<int64_t>(extents[m], 1) + (gaps ? pick(rng, 0, 2) : 0);
  }
  return strides;
}
inline Sizes broadcastable(Rng &rng, Sizes extents) {
  for (auto &e : extents)
    if (e != 0 && chance(rng, 25)) e = 1;
  while (!extents.empty() && extents.back() == 1 && chance(rng, 50)) extents.pop_back();
  return extents;
}

// Runs a problem once on every row of its family that accepts it, each time on the same old output, and gives every
// result to check(row, result).
template <class Check>
void on_every_row(const tcu::Problem &problem, Tensor &out, tcu::Execution e, Check &&check) {
  const std::vector<unsigned char> before(out.bytes.get(), out.bytes.get() + out.span * out.size() + 1);
  int rows = 0;
  for (const tcu::Kernel &k : planner().backend().kernels()) {
    if (k.family != problem.family) continue;
    std::shared_ptr<const tcu::Plan> plan;
    try {
      plan = planner().plan(problem, k.name);
    } catch (const tcu::Error &error) {
      REQUIRE(error.code == tcu::Code::kernel);
      continue;
    }
    std::memcpy(out.bytes.get(), before.data(), before.size());
    planner().execute(*plan, e, 0);
    check(k.name);
    ++rows;
  }
  if (!tcu::is_empty_reduction(problem)) REQUIRE(rows > 0);
  std::memcpy(out.bytes.get(), before.data(), before.size());
  planner().execute(*planner().plan(problem, nullptr), e, 0);
  check("the planner's choice");
}

inline void compare(const Tensor &out, const std::vector<double> &expected, double tolerance = 0) {
  const std::vector<double> got = out.values();
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double want = rounded(out.dtype, expected[i]);
    const bool same = got[i] == want || (std::isnan(got[i]) && std::isnan(want)) ||
                      std::fabs(got[i] - want) <= tolerance * std::fabs(want);
    if (!same) {
      CAPTURE(i, got[i], want);
      FAIL("a wrong element");
    }
  }
  REQUIRE(out.gaps_intact());
}

inline tcu::Scalar number(DType d, double x) { return tcu::make_scalar(d, x); }

}  // namespace cpu_test
