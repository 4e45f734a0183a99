// lib/tcu/warp.cuh as a user of it alone has it: kernels of their own that include nothing else of the library. Compiled by nvcc for a
// GPU, and by the host's compiler for the emulator. Prints 'N passed, N failed'; 77 without a GPU that was asked for.
#include "tcu/warp.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

using tcu::bf16_t, tcu::f16_t, tcu::f8e4m3_t, tcu::f8e5m2_t;

namespace {

// published: quads are put together by products
enum class What {
  reduce_16, reduce_256, reduce_16n, reduce_256n, scan_16, scan_256, scan_256_published, scan_16n, scan_256n, scan_256n_published
};
constexpr const char *names[] = {"reduce_16", "reduce_256",         "reduce_16n", "reduce_256n", "scan_16",
                                 "scan_256",  "scan_256_published", "scan_16n",   "scan_256n",   "scan_256n_published"};
constexpr What every[] = {What::reduce_16, What::reduce_256,         What::reduce_16n, What::reduce_256n, What::scan_16,
                          What::scan_256,  What::scan_256_published, What::scan_16n,   What::scan_256n,   What::scan_256n_published};

struct Arguments {
  const void *in;
  void *out;
  int n;
  What what;
};

template <class T>
__global__ void kernel(const Arguments a) {
  namespace w = tcu::warp;
  constexpr auto published = tcu::Across::products;
  constexpr int E = w::kElements<T>;
  const T *const in = static_cast<const T *>(a.in);
  auto *const out = static_cast<w::Sum<T> *>(a.out);
  const int lane = w::lane();
  const tcu::Piece x = w::piece_at(in + lane * E);
  w::Sum<T> y[E];
  if constexpr (!tcu::is_int<T>) {
    switch (a.what) {
      case What::reduce_256: out[lane] = w::reduce_256<T>(x); break;
      case What::reduce_256n: out[lane] = w::reduce_256n(in, a.n); break;
      default: break;
    }
  }
  if constexpr (sizeof(T) > 1) {
    switch (a.what) {
      case What::reduce_16: out[lane] = w::reduce_16<T>(x); break;
      case What::reduce_16n: out[lane] = w::reduce_16n(in, int64_t(a.n) * 16, a.n); break;
      default: break;
    }
  }
  if constexpr (sizeof(T) > 1 || tcu::is_int<T>) {
    switch (a.what) {
      case What::scan_16n: return w::scan_16n(in, out, int64_t(a.n) * 16, a.n);
      case What::scan_256n: return w::scan_256n(in, out, a.n);
      case What::scan_256n_published: return w::scan_256n<T, published>(in, out, a.n);
      case What::scan_16: w::scan_16<T>(x, y); break;
      case What::scan_256: w::scan_256<T>(x, y); break;
      case What::scan_256_published: w::scan_256<T, published>(x, y); break;
      default: return;
    }
    for (int i = 0; i < E; ++i) out[lane * E + i] = y[i];
  }
}

template <class T>
__global__ void row_sums(const Arguments a) {
  const tcu::Piece x = tcu::warp::piece_at(static_cast<const uint4 *>(a.in) + tcu::warp::lane());
  tcu::RowSums<T> sums;
  for (int i = 0; i < a.n; ++i) sums.add(x);
  static_cast<float *>(a.out)[tcu::warp::lane()] = float(sums.sum());
}

void must(cudaError_t e) {
  if (e != cudaSuccess) std::printf("cuda: %s\n", cudaGetErrorString(e)), std::exit(1);
}

// What is right, in float64: of reductions, by lane.
std::vector<double> expected(What what, const std::vector<double> &x, int n) {
  const bool short_ones = what == What::reduce_16 || what == What::reduce_16n || what == What::scan_16 || what == What::scan_16n;
  const size_t segment = short_ones ? 16 * size_t(n) : x.size();
  std::vector<double> y;
  if (what >= What::scan_16) {
    for (size_t i = 0; i < x.size(); ++i) y.push_back(x[i] + (i % segment ? y[i - 1] : 0));
    return y;
  }
  for (size_t lane = 0; lane < 32; ++lane) {
    double sum = 0;
    for (size_t i = 0; i < segment; ++i) sum += x[(short_ones ? lane / 2 * segment : 0) + i];
    y.push_back(sum);
  }
  return y;
}

bool same(double y, double x, double far) { return y == x || (y != y && x != x) || std::abs(y - x) <= far; }

// Memory of the device of just so many bytes, each 0xcd: numbers that nothing here comes to. What a problem has had the next one of its size has: each time
// that memory is given back a process waits for all that share the GPU.
void *room(int number, size_t bytes) {
  static std::map<std::pair<int, size_t>, void *> rooms;
  void *&memory = rooms[{number, bytes}];
  if (!memory) must(cudaMalloc(&memory, bytes));
  must(cudaMemset(memory, 0xcd, bytes));
  return memory;
}

template <class T>
bool right(What what, int n, const std::vector<double> &values, double relative) {
  using Number = tcu::warp::Sum<T>;
  std::vector<T> stored;
  std::vector<double> x;
  for (double v : values) stored.push_back(tcu::convert<T>(v)), x.push_back(tcu::convert<double>(stored.back()));
  const auto want = expected(what, x, n);
  std::vector<Number> got(want.size());
  void *const in = room(0, stored.size() * sizeof(T)), *const out = room(1, got.size() * sizeof(Number));
  must(cudaMemcpy(in, stored.data(), stored.size() * sizeof(T), cudaMemcpyHostToDevice));
  Arguments a{in, out, n, what};
  void *arguments[] = {&a};
#if defined(TCU_EMULATOR)
  const void *const function = tcu::cuda::kernel_address<&kernel<T>>();
#else
  const void *const function = reinterpret_cast<const void *>(&kernel<T>);
#endif
  must(cudaLaunchKernel(function, dim3(1), dim3(32), arguments, 0, nullptr));
  must(cudaMemcpy(got.data(), out, got.size() * sizeof(Number), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < want.size(); ++i)
    if (!same(double(got[i]), want[i], relative * std::abs(want[i]))) {
      std::printf("%s, n = %d: number %zu is %g, not %g\n", names[int(what)], n, i, double(got[i]), want[i]);
      return false;
    }
  return true;
}

// 16 bytes a lane of ones, twos, minus ones and zeros, whose bits these are, added kMost times: each quad's sum.
template <class T, class Bits>
bool rows_are_right(const char *name, Bits zero, Bits one, Bits two, Bits minus_one) {
  using Instruction = tcu::RowSums<T>;
  const Bits bits[] = {zero, one, two, minus_one};
  const double values[] = {0, 1, 2, minus_one == one ? 1.0 : -1.0};
  std::vector<Bits> x(512 / sizeof(Bits));
  double want[8] = {};
  std::mt19937_64 rng(sizeof(Bits));
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t k = rng() % 4;
    x[i] = bits[k], want[i * 8 / x.size()] += values[k] * Instruction::kMost;
  }
  void *const in = room(0, 512), *const out = room(1, 32 * sizeof(float));
  must(cudaMemcpy(in, x.data(), 512, cudaMemcpyHostToDevice));
  Arguments a{in, out, Instruction::kMost, What::reduce_16};
  void *arguments[] = {&a};
#if defined(TCU_EMULATOR)
  const void *const function = tcu::cuda::kernel_address<&row_sums<T>>();
#else
  const void *const function = reinterpret_cast<const void *>(&row_sums<T>);
#endif
  float got[32];
  must(cudaLaunchKernel(function, dim3(1), dim3(32), arguments, 0, nullptr));
  must(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  for (int lane = 0; lane < 32; ++lane)
    if (got[lane] != want[lane / 4]) return std::printf("rows of %s: lane %d has %g, not %g\n", name, lane, got[lane], want[lane / 4]), false;
  return true;
}

}  // namespace

int main() {
  int devices = 0;
#if !defined(TCU_EMULATOR)
  const char *wanted = std::getenv("TCUOPS_TEST_GPU");
  if (!wanted || *wanted == '0' || !*wanted) return std::printf("skipped: needs an NVIDIA GPU and ./run test --gpu\n"), 77;
#endif
  must(cudaGetDeviceCount(&devices));
  std::mt19937_64 rng(20261123);
  int passed = 0, failed = 0;
  const auto check = [&](bool ok) { ++(ok ? passed : failed); };
  check(rows_are_right<f16_t, uint16_t>("float16", 0, 0x3c00, 0x4000, 0xbc00));
  check(rows_are_right<bf16_t, uint16_t>("bfloat16", 0, 0x3f80, 0x4000, 0xbf80));
  check(rows_are_right<f8e4m3_t, uint8_t>("e4m3", 0, 0x38, 0x40, 0xb8));
  check(rows_are_right<f8e5m2_t, uint8_t>("e5m2", 0, 0x3c, 0x40, 0xbc));
  check(rows_are_right<int8_t, uint8_t>("int8", 0, 1, 2, 0xff));
  check(rows_are_right<uint8_t, uint8_t>("uint8", 0, 1, 2, 1));
  check(rows_are_right<float, float>("float32", 0, 1, 2, -1));
  check(rows_are_right<double, double>("float64", 0, 1, 2, -1));
  for (What what : every)
    for (int n : {1, 2, 8, 9, 31}) {
      const bool many = what == What::reduce_16n || what == What::reduce_256n || what >= What::scan_16n;
      if (n > 1 && !many) continue;
      std::vector<double> x(size_t(256 * n));
      const double inf = std::numeric_limits<double>::infinity();
      for (double &v : x) v = double(int(rng() % 17)) - 8;  // sums are exact
      check(right<f16_t>(what, n, x, 0) && right<bf16_t>(what, n, x, 0));
      for (double &v : x) v = double(rng() % 1024 + 1) / 1024;
      check(right<f16_t>(what, n, x, std::ldexp(double(n + 8), -22)));
      check(right<bf16_t>(what, n, x, std::ldexp(double(n + 8), -22)));
      // one element that is not finite, in every position of a tile, beside numbers whose sums are exact
      for (int at = 0; at < 256; at += n == 1 ? 1 : 37)
        for (const double special : {inf, -inf, inf - inf}) {
          for (double &v : x) v = double(int(rng() % 17)) - 8;
          x[size_t(at) * size_t(n)] = special;
          check(right<f16_t>(what, n, x, 0) && right<bf16_t>(what, n, x, 0));
        }
      if (what >= What::scan_16) {
        std::vector<double> bytes(size_t(512 * n));
        for (double &v : bytes) v = double(int(rng() % 256)) - 128;
        check(right<int8_t>(what, n, bytes, 0));
        for (double &v : bytes) v = double(rng() % 256);
        check(right<uint8_t>(what, n, bytes, 0));
      }
      if (what == What::reduce_256 || what == What::reduce_256n) {
        std::vector<double> bytes(size_t(512 * n));
        const auto fill = [&](auto value) {
          for (double &v : bytes) v = value();
        };
        const auto whole = [&] { return double(int(rng() % 9)) - 4; };
        fill(whole);
        check(right<f8e4m3_t>(what, n, bytes, 0) && right<f8e5m2_t>(what, n, bytes, 0));
        fill([&] { return double(rng() % 1024 + 1) / 1024; });
        check(right<f8e4m3_t>(what, n, bytes, std::ldexp(double(n + 8), -22)));
        check(right<f8e5m2_t>(what, n, bytes, std::ldexp(double(n + 8), -22)));
        fill([&] { return std::ldexp(double(rng() % 8), -9); });  // e4m3's least numbers, and numbers that are e5m2's
        check(right<f8e4m3_t>(what, n, bytes, 0) && right<f8e5m2_t>(what, n, bytes, 0));
        for (int at = 0; at < 512; at += n == 1 ? 1 : 37)
          for (const double special : {inf, -inf, inf - inf, 448.0}) {
            fill(whole);
            bytes[size_t(at) * size_t(n)] = special;
            check(right<f8e4m3_t>(what, n, bytes, 0) && right<f8e5m2_t>(what, n, bytes, 0));
          }
        fill([] { return 448.0; });
        check(right<f8e4m3_t>(what, n, bytes, 0));
        fill([] { return 57344.0; });
        check(right<f8e5m2_t>(what, n, bytes, std::ldexp(double(n + 8), -22)));
      }
      for (double &v : x) v = 65504;
      check(right<f16_t>(what, n, x, std::ldexp(double(n + 8), -22)));
    }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
