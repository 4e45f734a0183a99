// What the peers written in CUDA share: random operands, a clock of CUDA events, and the way through the cases.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "../runner/measure.h"
#include "../runner/once.h"

namespace peer {

#define MUST(call)                                                                       \
  do {                                                                                   \
    cudaError_t error_ = (call);                                                         \
    if (error_ != cudaSuccess) {                                                         \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_)); \
      std::exit(2);                                                                      \
    }                                                                                    \
  } while (0)

using bench::Case;

inline cudaStream_t queue = nullptr;  // everything runs in it

// One call: f(temporary, bytes, in0, in1, out); with a null temporary it only sets bytes.
using Algorithm = std::function<cudaError_t(void *, size_t &, const void *, const void *, void *)>;
// The ways to do a case, of which the fastest counts; none where the library has nothing for it.
struct Way {
  std::string kernel;
  Algorithm call;
};
using Ways = std::vector<Way>;

template <class T>
__global__ void randomize(T *data, size_t n) {
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x) {
    uint32_t h = static_cast<uint32_t>(i * 2654435761u) ^ static_cast<uint32_t>(i >> 17);
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h ^= h >> 13;
    const float unit = static_cast<float>(static_cast<int>(h >> 8)) * 0x1p-23f - 1.0f;
    data[i] = static_cast<T>(std::is_integral_v<T> ? 101 * unit : unit);  // integers in [-100, 100], as runner/data.h's
  }
}
template <class T>
void fill(char *data, size_t n) {
  randomize<<<1024, 256>>>(reinterpret_cast<T *>(data), n);
}
// Of what the cases have; a dtype that is not here is a case that no peer takes.
inline void fill(const std::string &dtype, char *data, size_t n) {
  const struct {
    const char *name;
    void (*of)(char *, size_t);
  } table[] = {{"f16", fill<__half>}, {"bf16", fill<__nv_bfloat16>}, {"f32", fill<float>},
               {"f64", fill<double>}, {"i32", fill<int>},            {"i8", fill<signed char>}};
  for (const auto &row : table) {
    if (dtype == row.name) return row.of(data, n);
  }
  std::fprintf(stderr, "cuda_peer: no %s to fill with\n", dtype.c_str());
  std::exit(2);
}

class Arena {
 public:
  char *reserve(size_t bytes) {
    if (bytes > bytes_) {
      MUST(cudaFree(data_));
      MUST(cudaMalloc(&data_, bytes));
      bytes_ = bytes;
    }
    return data_;
  }

 private:
  char *data_ = nullptr;
  size_t bytes_ = 0;
};

size_t round_up(size_t n) { return (n + 255) / 256 * 256; }

class StreamClock : public bench::Clock {
 public:
  StreamClock() {
    MUST(cudaEventCreate(&from_));
    MUST(cudaEventCreate(&to_));
    MUST(cudaMalloc(&plug_, 2 * bench::plug_bytes));
  }
  void plug(double us) override {
    for (double t = 0; t < us; t += bench::plug_copy_us) {
      MUST(cudaMemcpyAsync(plug_, plug_ + bench::plug_bytes, bench::plug_bytes, cudaMemcpyDeviceToDevice, queue));
    }
  }
  void start() override { MUST(cudaEventRecord(from_, queue)); }
  double stop_us() override {
    MUST(cudaEventRecord(to_, queue));
    synchronize();
    float ms = 0;
    MUST(cudaEventElapsedTime(&ms, from_, to_));
    return 1000.0 * ms;
  }
  void synchronize() override { MUST(cudaStreamSynchronize(queue)); }
  void *stream() const override { return queue; }

 private:
  cudaEvent_t from_ = nullptr, to_ = nullptr;
  char *plug_ = nullptr;
};

// Of n running sums in float32: ||out - reference|| / ||reference||, by every element, as runner/check.cpp does it by some.
inline double error_of_running_sums(const char *in, const char *out, int64_t n) {
  std::vector<float> x(n), y(n);
  MUST(cudaMemcpy(x.data(), in, n * sizeof(float), cudaMemcpyDeviceToHost));
  MUST(cudaMemcpy(y.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
  double sum = 0, squares = 0, norm = 0, summands = 0, difference = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += x[i], squares += double(x[i]) * x[i];
    norm += sum * sum, summands += squares, difference += (y[i] - sum) * (y[i] - sum);
  }
  return std::sqrt(difference / std::max(norm, summands));
}

// Every case that the library has a way to do.
inline int run(int argc, char **argv, const std::string &who, const std::string &version, Ways (*ways_of)(const Case &c)) {
  auto start = std::chrono::steady_clock::now();
  const bench::Options options = bench::parse_options(argc, argv);
  const std::vector<Case> cases = bench::load_cases(options);
  cudaDeviceProp device;
  MUST(cudaGetDeviceProperties(&device, 0));
  bench::RowFile rows(options.out);
  rows.meta(who, version);
  MUST(cudaStreamCreate(&queue));
  StreamClock clock;
  Arena operands, results, temporary;

  for (const Case &c : cases) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > options.budget) {
      rows.meta("left out", who + ": the time budget was spent");
      break;
    }
    if (!c.data.empty()) continue;
    const Ways ways = ways_of(c);
    if (ways.empty()) continue;
    const size_t in_bytes = round_up(c.inputs[0].elements() * bench::dtype_bytes(c.dtype));
    size_t out_bytes = bench::dtype_bytes(c.out);
    for (int64_t e : c.out_shape()) out_bytes *= e;
    out_bytes = round_up(out_bytes);
    const size_t sets = bench::rotation(c.bytes(), options.once ? 0 : device.l2CacheSize), n_in = c.inputs.size();
    char *in = operands.reserve(sets * n_in * in_bytes), *out = results.reserve(sets * out_bytes);
    fill(c.dtype, in, sets * n_in * in_bytes / bench::dtype_bytes(c.dtype));
    bench::Row best;
    std::function<void(int64_t)> best_call;
    for (const Way &way : ways) {
      bench::Row row;
      row.who = who, row.kernel = way.kernel;
      size_t temporary_bytes = 0;
      MUST(way.call(nullptr, temporary_bytes, in, in, out));
      const auto call = [=, &way, &temporary](int64_t k) {  // another way may have made temporary grow
        const char *x = in + k % sets * n_in * in_bytes;
        size_t bytes = temporary_bytes;
        char *scratch = temporary.reserve(std::max<size_t>(bytes, 1));
        MUST(way.call(scratch, bytes, x, n_in > 1 ? x + in_bytes : x, out + k % sets * out_bytes));
      };
      MUST(cudaDeviceSynchronize());
      if (options.once) {
        bench::seconds_of(clock, call);
        bench::run_once(clock, call, bench::seconds_of(clock, call), 1, &row);
        rows.row(c, row);
        continue;
      }
      bench::measure(clock, call, options, &row);
      if (c.family == "scan" && c.shape.size() == 1 && c.dtype == "f32") {
        call(0);
        MUST(cudaStreamSynchronize(queue));
        row.error = error_of_running_sums(in, out, c.elements());
      }
      if (best.us < 0 || row.us < best.us) best = row, best_call = call;
    }
    if (options.once) continue;
    if (bench::wants_energy(c, options)) bench::measure_energy(clock, best_call, c, &best);
    rows.row(c, best);
    std::fprintf(stderr, "%-8s %-28s %-5s %-14s %10.1f us %8.1f GB/s\n", who.c_str(), c.name.c_str(), c.dtype.c_str(),
                 c.expr.c_str(), best.us, c.bytes() / best.us / 1e3);
  }
  return 0;
}

}  // namespace peer
