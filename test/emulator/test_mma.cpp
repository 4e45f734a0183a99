// Every mma shape against a plain product, with fragments loaded by the layouts of the PTX manual written a second time
// (here as steps per thread and per element, checked by eye against CuTe's MMA_Traits), and with a misplaced element.
#include "test_support.h"

#include <bit>
#include <cmath>

namespace {

// Element i of a lane's fragment lies at (row, column) = first + member*per_member + group*per_group + Σ bit_k(i)*bit[k],
// where member = lane % 4 and group = lane / 4.
struct Step {
  int row, column;
};
struct Fragment {
  int count;
  Step per_member, per_group, bit[4];

  __device__ Step at(int lane, int i) const {
    Step s{lane % 4 * per_member.row + lane / 4 * per_group.row, lane % 4 * per_member.column + lane / 4 * per_group.column};
    for (int k = 0; k < 4; ++k)
      if (i >> k & 1) s.row += bit[k].row, s.column += bit[k].column;
    return s;
  }
};
struct Shape {
  int m, n, k;
  Fragment a, b, c;
};
constexpr Fragment c16x8{4, {0, 2}, {1, 0}, {{0, 1}, {8, 0}}};
constexpr Shape k16{16, 8, 16, {8, {0, 2}, {1, 0}, {{0, 1}, {8, 0}, {0, 8}}}, {4, {2, 0}, {0, 1}, {{1, 0}, {8, 0}}}, c16x8};
constexpr Shape k8{16, 8, 8, {4, {0, 2}, {1, 0}, {{0, 1}, {8, 0}}}, {2, {2, 0}, {0, 1}, {{1, 0}}}, c16x8};
constexpr Shape tf32_k8{16, 8, 8, {4, {0, 1}, {1, 0}, {{8, 0}, {0, 4}}}, {2, {1, 0}, {0, 1}, {{4, 0}}}, c16x8};
constexpr Shape tf32_k4{16, 8, 4, {2, {0, 1}, {1, 0}, {{8, 0}}}, {1, {1, 0}, {0, 1}, {}}, c16x8};
constexpr Shape f64_k4{8, 8, 4, {1, {0, 1}, {1, 0}, {}}, {1, {1, 0}, {0, 1}, {}}, {2, {0, 2}, {1, 0}, {{0, 1}}}};
constexpr Shape int_k32{16, 8, 32, {16, {0, 4}, {1, 0}, {{0, 1}, {0, 2}, {8, 0}, {0, 16}}},
                        {8, {4, 0}, {0, 1}, {{1, 0}, {2, 0}, {16, 0}}}, c16x8};

enum class Kind { f16_k16, bf16_k16, f16_k8, bf16_k8, tf32_k8, tf32_k4, f64, s8, u8 };
struct MmaParams {
  const double *a, *b;  // row-major m x k and k x n
  double *c;            // m x n, in and out
  Shape shape;
  Kind kind;
};

struct Packed {
  std::uint32_t word[4] = {};
  double f64[1] = {};
};

__device__ Packed load(const Fragment &fragment, const double *matrix, int columns, Kind kind) {
  Packed packed;
  for (int i = 0; i < fragment.count; ++i) {
    Step s = fragment.at(int(threadIdx.x), i);
    const double x = matrix[s.row * columns + s.column];
    switch (kind) {
      case Kind::f16_k16: case Kind::f16_k8:
        packed.word[i / 2] |= std::uint32_t(emu::float_to_half(float(x))) << (i % 2 * 16);
        break;
      case Kind::bf16_k16: case Kind::bf16_k8:
        packed.word[i / 2] |= std::uint32_t(emu::float_to_bfloat16(float(x))) << (i % 2 * 16);
        break;
      case Kind::tf32_k8: case Kind::tf32_k4: packed.word[i] = __float_as_uint(float(x)); break;
      case Kind::f64: packed.f64[i] = x; break;
      case Kind::s8: case Kind::u8: packed.word[i / 4] |= std::uint32_t(std::uint8_t(int(x))) << (i % 4 * 8); break;
    }
  }
  return packed;
}

__global__ void mma_kernel(const __grid_constant__ MmaParams p) {
  const Packed a = load(p.shape.a, p.a, p.shape.k, p.kind), b = load(p.shape.b, p.b, p.shape.n, p.kind);
  const int lane = int(threadIdx.x);
  auto c = [&](int i) -> double & {
    Step s = p.shape.c.at(lane, i);
    return p.c[s.row * p.shape.n + s.column];
  };
  float f[4] = {};
  std::int32_t n[4] = {};
  double d[2] = {};
  for (int i = 0; i < p.shape.c.count; ++i) {
    f[i] = float(c(i));
    n[i] = int(c(i));
    d[i % 2] = i < 2 ? c(i) : d[i % 2];
  }
  switch (p.kind) {
    case Kind::f16_k16: emu::mma_m16n8k16(f, a.word, b.word, f, emu::mma_kind::f16); break;
    case Kind::bf16_k16: emu::mma_m16n8k16(f, a.word, b.word, f, emu::mma_kind::bf16); break;
    case Kind::f16_k8: emu::mma_m16n8k8(f, a.word, b.word, f, emu::mma_kind::f16); break;
    case Kind::bf16_k8: emu::mma_m16n8k8(f, a.word, b.word, f, emu::mma_kind::bf16); break;
    case Kind::tf32_k8: emu::mma_m16n8k8_tf32(f, a.word, b.word, f); break;
    case Kind::tf32_k4: emu::mma_m16n8k4_tf32(f, a.word, b.word, f); break;
    case Kind::f64: emu::mma_m8n8k4_f64(d, a.f64, b.f64, d); break;
    case Kind::s8: emu::mma_m16n8k32(n, a.word, b.word, n, emu::mma_int::s8); break;
    case Kind::u8: emu::mma_m16n8k32(n, a.word, b.word, n, emu::mma_int::u8); break;
  }
  for (int i = 0; i < p.shape.c.count; ++i)
    c(i) = p.kind == Kind::f64 ? d[i] : p.kind >= Kind::s8 ? double(n[i]) : double(f[i]);
}

// Does the warp's product, with fragments laid out by `used`, equal the plain one?
bool agrees(Kind kind, const Shape &shape, const Shape &used) {
  const int low = kind == Kind::u8 ? 0 : -8;
  std::vector<double> a(shape.m * shape.k), b(shape.k * shape.n), c(shape.m * shape.n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = double(int(i * 7 % 19) + low);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = double(int(i * 5 % 17) + low);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = double(i);
  DeviceArray<double> da(a), db(b), dc(c);
  REQUIRE(launch<&mma_kernel>(1, 32, MmaParams{da.data(), db.data(), dc.data(), used, kind}) == cudaSuccess);
  for (int m = 0; m < shape.m; ++m)
    for (int n = 0; n < shape.n; ++n)
      for (int k = 0; k < shape.k; ++k) c[m * shape.n + n] += a[m * shape.k + k] * b[k * shape.n + n];
  return dc.host() == c;
}

}  // namespace

TEST_CASE("mma shapes, right and with a wrong fragment index") {
  const std::pair<Kind, Shape> cases[] = {{Kind::f16_k16, k16}, {Kind::bf16_k16, k16},    {Kind::f16_k8, k8},
                                          {Kind::bf16_k8, k8},  {Kind::tf32_k8, tf32_k8}, {Kind::tf32_k4, tf32_k4},
                                          {Kind::f64, f64_k4},  {Kind::s8, int_k32},      {Kind::u8, int_k32}};
  for (const auto &[kind, shape] : cases) {
    INFO("kind " << int(kind));
    REQUIRE(agrees(kind, shape, shape));
    Shape wrong = shape;  // two element bits of A swapped, or A read as another group order
    if (shape.a.count > 2)
      std::swap(wrong.a.bit[0], wrong.a.bit[1]);
    else
      wrong.a.per_group.row = shape.m == 8 ? 0 : 2;
    if (wrong.a.per_group.row == 2) wrong.a.bit[0].row = 1;
    REQUIRE_FALSE(agrees(kind, shape, wrong));
    wrong = shape;
    wrong.c.per_member.column = 1;
    wrong.c.bit[0].column = 4;
    REQUIRE_FALSE(agrees(kind, shape, wrong));
  }
}

TEST_CASE("16-bit floats") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float x = emu::half_to_float(std::uint16_t(bits)), y = emu::bfloat16_to_float(std::uint16_t(bits));
    if (!std::isnan(x) && emu::float_to_half(x) != bits) FAIL("half " << bits);
    if (!std::isnan(y) && emu::float_to_bfloat16(y) != bits) FAIL("bfloat16 " << bits);
  }
  REQUIRE(emu::half_to_float(0x7bff) == 65504.0f);
  REQUIRE(emu::half_to_float(0x0001) == std::ldexp(1.0f, -24));
  REQUIRE(emu::float_to_half(65520.0f) == 0x7c00);
  REQUIRE(emu::float_to_half(2049.0f) == emu::float_to_half(2048.0f));
}
