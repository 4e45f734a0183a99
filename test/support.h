// Helpers that every test may use: they need no room of the library.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "catch.h"

namespace support {

// Seeded by hand and used without the standard's distributions, which differ between libraries. TCU_TEST_SEED: other numbers, for all tests.
struct Rng : std::mt19937_64 {
  explicit Rng(uint64_t seed) : std::mt19937_64(seed + 1000 * further()) {}

 private:
  static uint64_t further() {
    const char *n = std::getenv("TCU_TEST_SEED");
    return n ? std::strtoull(n, nullptr, 10) : 0;
  }
};
inline int64_t pick(Rng &rng, int64_t low, int64_t high) { return low + int64_t(rng() % uint64_t(high - low + 1)); }
inline bool chance(Rng &rng, int percent) { return pick(rng, 0, 99) < percent; }
template <class List>
auto one_of(Rng &rng, const List &list) {
  return list[size_t(pick(rng, 0, int64_t(std::size(list)) - 1))];
}

using Sizes = std::vector<int64_t>;

// Calls f(index) for every index tuple, mode 0 fastest: once at rank 0, never when an extent is 0.
template <class F>
void for_each_index(const Sizes &extents, F &&f) {
  Sizes index(extents.size(), 0);
  for (int64_t e : extents)
    if (e == 0) return;
  for (;;) {
    f(static_cast<const Sizes &>(index));
    size_t m = 0;
    while (m < extents.size() && ++index[m] == extents[m]) index[m++] = 0;
    if (m == extents.size()) return;
  }
}

inline int64_t offset(const Sizes &index, const Sizes &strides) {
  int64_t at = 0;
  for (size_t m = 0; m < index.size() && m < strides.size(); ++m) at += index[m] * strides[m];
  return at;
}

inline int64_t product(const Sizes &extents) {
  int64_t n = 1;
  for (int64_t e : extents) n *= e;
  return n;
}

// The extents of what a reduction over dims leaves.
inline Sizes kept_of(Sizes extents, const std::vector<int32_t> &dims) {
  for (int32_t d : dims) extents[size_t(d)] = 1;
  return extents;
}

inline Sizes dense(const Sizes &extents) {
  Sizes strides;
  int64_t step = 1;
  for (int64_t e : extents) strides.push_back(step), step *= e;
  return strides;
}

}  // namespace support
