// The shapes of mma.sync, each as the maps (lane, element) -> (row, column) that the PTX manual gives, over one
// gather-multiply-scatter.
#include "emulator/mma.h"

#include <bit>
#include <cmath>

namespace emu {
namespace {

struct At {
  unsigned row, column;
};

// groupID and threadID_in_group of the PTX manual.
constexpr unsigned group(unsigned lane) { return lane >> 2; }
constexpr unsigned member(unsigned lane) { return lane & 3; }

// Accumulators of every m16n8 shape: c0 c1 in the upper eight rows, c2 c3 in the lower.
struct M16N8 {
  static constexpr unsigned M = 16, N = 8, c_count = 4;
  static constexpr At c(unsigned lane, unsigned i) { return {group(lane) + (i < 2 ? 0 : 8), member(lane) * 2 + (i & 1)}; }
};

template <bool bf16>
struct Half {
  using Sum = double;
  using Acc = float;
  static double load(const void *registers, unsigned i) {
    std::uint32_t word = static_cast<const std::uint32_t *>(registers)[i / 2];
    auto bits = std::uint16_t(i & 1 ? word >> 16 : word);
    return bf16 ? bfloat16_to_float(bits) : half_to_float(bits);
  }
};

template <bool bf16>
struct M16N8K16 : M16N8, Half<bf16> {
  static constexpr unsigned K = 16, a_count = 8, b_count = 4;
  static constexpr At a(unsigned lane, unsigned i) {
    return {group(lane) + (i / 2 % 2 ? 8 : 0), member(lane) * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  }
  static constexpr At b(unsigned lane, unsigned i) { return {member(lane) * 2 + (i & 1) + (i >= 2 ? 8 : 0), group(lane)}; }
};

template <bool bf16>
struct M16N8K8 : M16N8, Half<bf16> {
  static constexpr unsigned K = 8, a_count = 4, b_count = 2;
  static constexpr At a(unsigned lane, unsigned i) { return {group(lane) + (i < 2 ? 0 : 8), member(lane) * 2 + (i & 1)}; }
  static constexpr At b(unsigned lane, unsigned i) { return {member(lane) * 2 + i, group(lane)}; }
};

struct Tf32 {
  using Sum = double;
  using Acc = float;
  static double load(const void *registers, unsigned i) {
    return std::bit_cast<float>(static_cast<const std::uint32_t *>(registers)[i] & 0xffffe000u);
  }
};

struct M16N8K8Tf32 : M16N8, Tf32 {
  static constexpr unsigned K = 8, a_count = 4, b_count = 2;
  static constexpr At a(unsigned lane, unsigned i) { return {group(lane) + (i & 1 ? 8 : 0), member(lane) + (i >= 2 ? 4 : 0)}; }
  static constexpr At b(unsigned lane, unsigned i) { return {member(lane) + (i ? 4 : 0), group(lane)}; }
};

struct M16N8K4Tf32 : M16N8, Tf32 {
  static constexpr unsigned K = 4, a_count = 2, b_count = 1;
  static constexpr At a(unsigned lane, unsigned i) { return {group(lane) + (i ? 8 : 0), member(lane)}; }
  static constexpr At b(unsigned lane, unsigned) { return {member(lane), group(lane)}; }
};

struct M8N8K4F64 {
  using Sum = double;
  using Acc = double;
  static constexpr unsigned M = 8, N = 8, K = 4, a_count = 1, b_count = 1, c_count = 2;
  static constexpr At a(unsigned lane, unsigned) { return {group(lane), member(lane)}; }
  static constexpr At b(unsigned lane, unsigned) { return {member(lane), group(lane)}; }
  static constexpr At c(unsigned lane, unsigned i) { return {group(lane), member(lane) * 2 + i}; }
  static double load(const void *registers, unsigned i) { return static_cast<const double *>(registers)[i]; }
};

template <bool is_signed>
struct M16N8K32 : M16N8 {
  static constexpr unsigned K = 32, a_count = 16, b_count = 8;
  using Sum = std::int64_t;
  using Acc = std::int32_t;  // wraps, as without .satfinite
  static constexpr At a(unsigned lane, unsigned i) {
    return {group(lane) + (i / 4 % 2 ? 8 : 0), member(lane) * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  }
  static constexpr At b(unsigned lane, unsigned i) { return {member(lane) * 4 + (i & 3) + (i >= 4 ? 16 : 0), group(lane)}; }
  static std::int64_t load(const void *registers, unsigned i) {
    auto byte = std::uint8_t(static_cast<const std::uint32_t *>(registers)[i / 4] >> (8 * (i & 3)));
    return is_signed ? std::int64_t(std::int8_t(byte)) : std::int64_t(byte);
  }
};

struct Registers {
  const void *a, *b, *c;
  void *d;
};

template <class Shape>
void multiply(void *const io[32], unsigned) {
  using Sum = typename Shape::Sum;
  using Acc = typename Shape::Acc;
  Sum a[Shape::M][Shape::K], b[Shape::K][Shape::N], c[Shape::M][Shape::N];
  for (unsigned lane = 0; lane < 32; ++lane) {
    const auto &r = *static_cast<Registers *>(io[lane]);
    for (unsigned i = 0; i < Shape::a_count; ++i) {
      At at = Shape::a(lane, i);
      a[at.row][at.column] = Shape::load(r.a, i);
    }
    for (unsigned i = 0; i < Shape::b_count; ++i) {
      At at = Shape::b(lane, i);
      b[at.row][at.column] = Shape::load(r.b, i);
    }
    for (unsigned i = 0; i < Shape::c_count; ++i) {
      At at = Shape::c(lane, i);
      c[at.row][at.column] = static_cast<const Acc *>(r.c)[i];
    }
  }
  for (unsigned m = 0; m < Shape::M; ++m)
    for (unsigned n = 0; n < Shape::N; ++n)
      for (unsigned k = 0; k < Shape::K; ++k) c[m][n] += a[m][k] * b[k][n];
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < Shape::c_count; ++i) {
      At at = Shape::c(lane, i);
      static_cast<Acc *>(static_cast<Registers *>(io[lane])->d)[i] = static_cast<Acc>(c[at.row][at.column]);
    }
}

template <class Shape>
void mma(const char *what, void *d, const void *a, const void *b, const void *c, Site site) {
  Registers io{a, b, c, d};
  warp_collective(what, 0xffffffffu, &io, &multiply<Shape>, site);
}

}  // namespace

void mma_m16n8k16(float d[4], const std::uint32_t a[4], const std::uint32_t b[2], const float c[4], mma_kind kind,
                  const char *file, int line) {
  if (kind == mma_kind::bf16)
    mma<M16N8K16<true>>("mma.m16n8k16 bf16", d, a, b, c, {file, line});
  else
    mma<M16N8K16<false>>("mma.m16n8k16 f16", d, a, b, c, {file, line});
}

void mma_m16n8k8(float d[4], const std::uint32_t a[2], const std::uint32_t b[1], const float c[4], mma_kind kind,
                 const char *file, int line) {
  if (kind == mma_kind::bf16)
    mma<M16N8K8<true>>("mma.m16n8k8 bf16", d, a, b, c, {file, line});
  else
    mma<M16N8K8<false>>("mma.m16n8k8 f16", d, a, b, c, {file, line});
}

void mma_m16n8k8_tf32(float d[4], const std::uint32_t a[4], const std::uint32_t b[2], const float c[4], const char *file,
                      int line) {
  mma<M16N8K8Tf32>("mma.m16n8k8 tf32", d, a, b, c, {file, line});
}

void mma_m16n8k4_tf32(float d[4], const std::uint32_t a[2], const std::uint32_t b[1], const float c[4], const char *file,
                      int line) {
  mma<M16N8K4Tf32>("mma.m16n8k4 tf32", d, a, b, c, {file, line});
}

void mma_m8n8k4_f64(double d[2], const double a[1], const double b[1], const double c[2], const char *file, int line) {
  mma<M8N8K4F64>("mma.m8n8k4 f64", d, a, b, c, {file, line});
}

void mma_m16n8k32(std::int32_t d[4], const std::uint32_t a[4], const std::uint32_t b[2], const std::int32_t c[4],
                  mma_int kind, const char *file, int line) {
  if (kind == mma_int::s8)
    mma<M16N8K32<true>>("mma.m16n8k32 s8", d, a, b, c, {file, line});
  else
    mma<M16N8K32<false>>("mma.m16n8k32 u8", d, a, b, c, {file, line});
}

float half_to_float(std::uint16_t bits) {
  const unsigned exponent = bits >> 10 & 31, fraction = bits & 1023;
  float x = exponent == 31 ? (fraction ? NAN : INFINITY)
            : exponent     ? std::ldexp(float(fraction + 1024), int(exponent) - 25)
                           : std::ldexp(float(fraction), -24);
  return bits >> 15 ? -x : x;
}

std::uint16_t float_to_half(float x) {
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  x = std::fabs(x);
  if (std::isnan(x)) return 0x7e00;
  if (x == 0) return sign;
  if (x >= 65520.0f) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int shift = exponent - 11 < -24 ? -24 : exponent - 11;  // weight of the last bit kept
  const auto units = unsigned(std::nearbyint(std::ldexp(x, -shift)));  // a carry runs on into the exponent
  return std::uint16_t(sign | (shift == -24 ? units : (unsigned(shift + 24) << 10) + units));
}

float bfloat16_to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t(bits) << 16); }

std::uint16_t float_to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return std::uint16_t(bits >> 16 | 0x40);
  return std::uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace emu
