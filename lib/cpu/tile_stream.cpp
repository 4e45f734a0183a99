// Copies a tile past the caches, and fills one, per SIMD target.
#include "cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tile_stream.cpp"
#include <cstring>

#include "cpu/table.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tcu::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

void stream(void *to, const void *from, int64_t bytes, const Ahead &ahead) {
  const hn::ScalableTag<uint8_t> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  uint8_t *o = static_cast<uint8_t *>(to);
  const uint8_t *s = static_cast<const uint8_t *>(from);
  // Whole cache lines: a partly written one costs more than a plain store.
  const int64_t head = int64_t(-reinterpret_cast<uintptr_t>(o) & 63);
  if (bytes < head + 256 || lanes < 16) {
    std::memcpy(o, s, size_t(bytes));
    return;
  }
  std::memcpy(o, s, size_t(head));
  int64_t i = head;
  for (; i + 64 <= bytes; i += 64) {
    for (int k = 0; k < ahead.n; ++k) hwy::Prefetch(ahead.at[k] + i);
    for (int64_t j = 0; j < 64; j += lanes) hn::Stream(hn::LoadU(d, s + i + j), d, o + i + j);
  }
  std::memcpy(o + i, s + i, size_t(bytes - i));
}

// In whole vectors: what is stored just after a tile was streamed waits in the store queue behind it, and each store takes a place there.
template <class T> void fill_with(uint8_t *o, const void *from, int64_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const hn::Repartition<T, decltype(d)> dt;
  T value;
  std::memcpy(&value, from, sizeof value);
  const auto v = hn::BitCast(d, hn::Set(dt, value));
  const int64_t lanes = int64_t(hn::Lanes(d));
  if (bytes < lanes || lanes < 16) {
    for (int64_t i = 0; i < bytes; i += sizeof(T)) std::memcpy(o + i, &value, sizeof value);
    return;
  }
  for (int64_t i = 0; i + lanes <= bytes; i += lanes) hn::StoreU(v, d, o + i);
  hn::StoreU(v, d, o + bytes - lanes);
}
void fill(void *to, const void *from, int64_t n, int bytes) {
  uint8_t *const o = static_cast<uint8_t *>(to);
  switch (bytes) {
    case 1: return fill_with<uint8_t>(o, from, n);
    case 2: return fill_with<uint16_t>(o, from, 2 * n);
    case 4: return fill_with<uint32_t>(o, from, 4 * n);
    case 8: return fill_with<uint64_t>(o, from, 8 * n);
    default:
      for (int64_t i = 0; i < n; ++i) std::memcpy(o + 16 * i, from, 16);
  }
}

void enter(Table &t) { t.stream = stream, t.fill = fill; }

}  // namespace
}  // namespace tcu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcu::cpu {
HWY_EXPORT(enter);
void fill_stream(Table &t) { HWY_DYNAMIC_DISPATCH(enter)(t); }
void flush_streams() { hwy::FlushStream(); }
}  // namespace tcu::cpu
#endif
