// Block barriers and the warp's synchronous operations. Each lane computes on its own which lane it reads; the
// exchange itself happens in one rendezvous of the mask's lanes (emu::warp_collective).
#pragma once

#include "emulator.h"

#include <concepts>
#include <cstring>

#define TCU_EMULATOR_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(TCU_EMULATOR_SITE) { emu::block_barrier(emu::BarrierKind::sync, 0, {file, line}); }
inline int __syncthreads_or(int p, TCU_EMULATOR_SITE) { return emu::block_barrier(emu::BarrierKind::any, p, {file, line}); }
inline int __syncthreads_and(int p, TCU_EMULATOR_SITE) { return emu::block_barrier(emu::BarrierKind::all, p, {file, line}); }
inline int __syncthreads_count(int p, TCU_EMULATOR_SITE) {
  return emu::block_barrier(emu::BarrierKind::count, p, {file, line});
}
inline void __syncwarp(unsigned mask = 0xffffffffu, TCU_EMULATOR_SITE) {
  emu::warp_collective("__syncwarp", mask, nullptr, [](void *const *, unsigned) {}, {file, line});
}

namespace emu {

// CUDA's shuffles, votes and reductions exist for these types; smaller ones would convert to int.
template <class T>
concept Word = std::integral<T> || std::floating_point<T>;
template <class T>
using Widened = decltype(+std::declval<T>());

template <class T>
struct Shuffle {
  T value, result;
  int source;  // lane
};

// A lane outside the mask has no defined value: the reader gets a NaN, or -1.
template <class T>
void exchange(void *const io[32], unsigned mask) {
  for (int i = 0; i < 32; ++i) {
    if (!(mask >> i & 1)) continue;
    auto &to = *static_cast<Shuffle<T> *>(io[i]);
    if (mask >> to.source & 1)
      to.result = static_cast<Shuffle<T> *>(io[to.source])->value;
    else
      std::memset(&to.result, 0xff, sizeof(T));
  }
}

template <class T>
Widened<T> shuffle(const char *what, unsigned mask, T value, int source, Site site) {
  using W = Widened<T>;
  static_assert(sizeof(W) == 4 || sizeof(W) == 8);
  Shuffle<W> io{value, W(), source};
  warp_collective(what, mask, &io, &exchange<W>, site);
  return io.result;
}

inline int segment_start(const char *what, int width) {
  if (width < 1 || width > 32 || (width & (width - 1))) fail("%s: width %d is not a power of two up to 32", what, width);
  return int(lane()) & ~(width - 1);
}

}  // namespace emu

template <emu::Word T>
auto __shfl_sync(unsigned mask, T value, int source, int width = 32, TCU_EMULATOR_SITE) {
  int start = emu::segment_start("__shfl_sync", width);
  return emu::shuffle("__shfl_sync", mask, value, start | (source & (width - 1)), {file, line});
}
template <emu::Word T>
auto __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, TCU_EMULATOR_SITE) {
  int start = emu::segment_start("__shfl_up_sync", width), self = int(emu::lane());
  if (delta > 31) emu::fail("__shfl_up_sync: delta %u is past 31 (the hardware takes it modulo 32)", delta);
  int source = self - int(delta);
  return emu::shuffle("__shfl_up_sync", mask, value, source < start ? self : source, {file, line});
}
template <emu::Word T>
auto __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, TCU_EMULATOR_SITE) {
  int start = emu::segment_start("__shfl_down_sync", width), self = int(emu::lane());
  if (delta > 31) emu::fail("__shfl_down_sync: delta %u is past 31 (the hardware takes it modulo 32)", delta);
  int source = self + int(delta);
  return emu::shuffle("__shfl_down_sync", mask, value, source >= start + width ? self : source, {file, line});
}
template <emu::Word T>
auto __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, TCU_EMULATOR_SITE) {
  int start = emu::segment_start("__shfl_xor_sync", width), self = int(emu::lane());
  int source = self ^ (lane_mask & 31);
  return emu::shuffle("__shfl_xor_sync", mask, value, source >= start + width ? self : source, {file, line});
}

namespace emu {

struct Vote {
  std::uint64_t value;
  unsigned result;
};

inline unsigned ballot(const char *what, unsigned mask, bool predicate, Site site) {
  Vote io{predicate, 0};
  auto combine = [](void *const *lanes, unsigned m) {
    unsigned set = 0;
    for (unsigned i = 0; i < 32; ++i)
      if (m >> i & 1) set |= unsigned(static_cast<Vote *>(lanes[i])->value) << i;
    for (unsigned i = 0; i < 32; ++i)
      if (m >> i & 1) static_cast<Vote *>(lanes[i])->result = set;
  };
  warp_collective(what, mask, &io, combine, site);
  return io.result;
}

template <class T, class F>
T warp_reduce(const char *what, unsigned mask, T value, Site site) {
  auto combine = [](void *const *lanes, unsigned m) {
    bool first = true;
    T total{};
    for (unsigned i = 0; i < 32; ++i)
      if (m >> i & 1) {
        T v = *static_cast<T *>(lanes[i]);
        total = first ? v : F()(total, v);
        first = false;
      }
    for (unsigned i = 0; i < 32; ++i)
      if (m >> i & 1) *static_cast<T *>(lanes[i]) = total;
  };
  warp_collective(what, mask, &value, combine, site);
  return value;
}

struct Add {
  unsigned operator()(unsigned a, unsigned b) const { return a + b; }
  int operator()(int a, int b) const { return int(unsigned(a) + unsigned(b)); }
};
struct Min {
  template <class T> T operator()(T a, T b) const { return b < a ? b : a; }
};
struct Max {
  template <class T> T operator()(T a, T b) const { return a < b ? b : a; }
};
struct And {
  unsigned operator()(unsigned a, unsigned b) const { return a & b; }
};
struct Or {
  unsigned operator()(unsigned a, unsigned b) const { return a | b; }
};
struct Xor {
  unsigned operator()(unsigned a, unsigned b) const { return a ^ b; }
};

}  // namespace emu

inline unsigned __ballot_sync(unsigned mask, int p, TCU_EMULATOR_SITE) {
  return emu::ballot("__ballot_sync", mask, p != 0, {file, line});
}
inline int __any_sync(unsigned mask, int p, TCU_EMULATOR_SITE) {
  return emu::ballot("__any_sync", mask, p != 0, {file, line}) != 0;
}
inline int __all_sync(unsigned mask, int p, TCU_EMULATOR_SITE) {
  return emu::ballot("__all_sync", mask, p != 0, {file, line}) == mask;
}
// Any set of converged lanes is a legal answer; the least helpful one shows code that takes it for 'all'.
inline unsigned __activemask() { return 1u << emu::lane(); }

template <emu::Word T>
unsigned __match_any_sync(unsigned mask, T value, TCU_EMULATOR_SITE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  emu::Vote io{0, 0};
  std::memcpy(&io.value, &value, sizeof(T));
  auto combine = [](void *const *lanes, unsigned m) {
    auto at = [&](unsigned i) { return static_cast<emu::Vote *>(lanes[i]); };
    for (unsigned i = 0; i < 32; ++i)
      for (unsigned j = 0; j < 32; ++j)
        if ((m >> i & 1) && (m >> j & 1) && at(i)->value == at(j)->value) at(i)->result |= 1u << j;
  };
  emu::warp_collective("__match_any_sync", mask, &io, combine, {file, line});
  return io.result;
}
template <emu::Word T>
unsigned __match_all_sync(unsigned mask, T value, int *all, TCU_EMULATOR_SITE) {
  *all = __match_any_sync(mask, value, file, line) == mask;
  return *all ? mask : 0;
}

#define TCU_EMULATOR_REDUCE(T, name, F)                                   \
  inline T name(unsigned mask, T value, TCU_EMULATOR_SITE) {              \
    return emu::warp_reduce<T, emu::F>(#name, mask, value, {file, line}); \
  }
TCU_EMULATOR_REDUCE(unsigned, __reduce_add_sync, Add)
TCU_EMULATOR_REDUCE(int, __reduce_add_sync, Add)
TCU_EMULATOR_REDUCE(unsigned, __reduce_min_sync, Min)
TCU_EMULATOR_REDUCE(int, __reduce_min_sync, Min)
TCU_EMULATOR_REDUCE(unsigned, __reduce_max_sync, Max)
TCU_EMULATOR_REDUCE(int, __reduce_max_sync, Max)
TCU_EMULATOR_REDUCE(unsigned, __reduce_and_sync, And)
TCU_EMULATOR_REDUCE(unsigned, __reduce_or_sync, Or)
TCU_EMULATOR_REDUCE(unsigned, __reduce_xor_sync, Xor)
#undef TCU_EMULATOR_REDUCE
