// tcu_ceiling_cuda: how fast this GPU's memory streams, by the mix of bytes read and written and by size.
//   tcu_ceiling_cuda [--out FILE] [--quick]
// Mixes: read (1:0), 64, 16 and 2 reads to a write, copy (1:1), two writes to a read, fill (0:1). At each size every variant of the mix's
// streaming kernel (work a thread, block, plain grid or persistent grid of so many blocks an SM, past the caches or through them) and the
// copy engine is tried; the best one's median is the ceiling. Timing is tcu_bench's: batches between two events, short ones behind a busy
// device, operands rotated out of the L2 (bench/runner/measure.cpp says why).
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace {

#define MUST(call)                                                                           \
  do {                                                                                       \
    cudaError_t error_ = (call);                                                             \
    if (error_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "tcu_ceiling_cuda: %s: %s\n", #call, cudaGetErrorString(error_)); \
      std::exit(2);                                                                          \
    }                                                                                        \
  } while (0)

constexpr size_t plug_bytes = size_t{256} << 20;

// Each thread moves Unroll vectors a block width apart, then strides by the grid. A plain grid passes the loop once.
// Past: loads and stores that are not to stay in the caches; which is faster depends on how the operands lie to each other.
template <int Reads, int Writes, int Unroll, bool Past>
__global__ void stream(const uint4 *a, const uint4 *b, uint4 *out, uint4 *second, size_t n) {
  uint4 sum = make_uint4(threadIdx.x, 1, 2, 3);
  const size_t step = size_t{gridDim.x} * blockDim.x * Unroll;
  for (size_t i = size_t{blockIdx.x} * blockDim.x * Unroll + threadIdx.x; i < n; i += step) {
    uint4 x[Unroll], y[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; u++) {
      size_t at = i + size_t{blockDim.x} * u;
      x[u] = Reads > 0 && at < n ? (Past ? __ldcs(a + at) : a[at]) : sum;
      y[u] = Reads > 1 && at < n ? (Past ? __ldcs(b + at) : b[at]) : sum;
    }
#pragma unroll
    for (int u = 0; u < Unroll; u++) {
      size_t at = i + size_t{blockDim.x} * u;
      uint4 v = x[u];
      if (Reads > 1) v.x += y[u].x, v.y += y[u].y, v.z += y[u].z, v.w += y[u].w;
      if (Writes > 0) {
        if (at < n) Past ? __stcs(out + at, v) : void(out[at] = v);
        if (Writes > 1 && at < n) Past ? __stcs(second + at, v) : void(second[at] = v);
      } else {
        sum.x ^= v.x, sum.y ^= v.y, sum.z ^= v.z, sum.w ^= v.w;
      }
    }
  }
  // Never true on the data here, but the compiler cannot know, and so must load it all.
  if (Writes == 0 && (sum.x & sum.y & sum.z & sum.w) == 0xffffffffu) *out = sum;
}

__device__ uint4 operator^(uint4 a, uint4 b) { return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w); }

// Writes n vectors and reads Reads times as many. A warp's reads are neighbours, or so many operands' (Apart); of every Split threads one
// writes, so that a thread has Reads / Split loads and short work many threads.
template <int Reads, int Split, bool Apart, bool Past>
__global__ void sift(const uint4 *a, uint4 *out, size_t n) {
  constexpr int loads = Reads / Split, unroll = loads < 8 ? loads : 8, written = 32 / Split;  // by a warp
  const int lane = threadIdx.x % 32;
  const size_t step = size_t{gridDim.x} * blockDim.x / Split;
  for (size_t first = (size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32 * written; first < n; first += step) {
    uint4 sum = make_uint4(0, 0, 0, 0);
#pragma unroll 1
    for (int r = 0; r < loads; r += unroll) {
      uint4 x[unroll];
#pragma unroll
      for (int u = 0; u < unroll; u++) {
        const uint4 *from = Apart ? a + (r + u) * n + first + lane : a + first * Reads + (r + u) * 32 + lane;
        x[u] = Past ? __ldcs(from) : *from;
      }
#pragma unroll
      for (int u = 0; u < unroll; u++) sum = sum ^ x[u];
    }
#pragma unroll
    for (int h = written; h < 32; h *= 2)
      sum = sum ^ make_uint4(__shfl_xor_sync(~0u, sum.x, h), __shfl_xor_sync(~0u, sum.y, h), __shfl_xor_sync(~0u, sum.z, h),
                             __shfl_xor_sync(~0u, sum.w, h));
    if (lane < written) Past ? __stcs(out + first + lane, sum) : void(out[first + lane] = sum);
  }
}

__global__ void randomize(uint32_t *data, size_t n) {
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x) {
    uint32_t h = static_cast<uint32_t>(i * 2654435761u) ^ static_cast<uint32_t>(i >> 17);
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    data[i] = (h ^ (h >> 16)) & 0x7fffffffu;
  }
}

// The memory of one size: sets of inputs and outputs, one behind the other, and how to launch on set k.
struct Arena {
  char *data;
  size_t n;  // vectors of 16 bytes in each operand, a multiple of 32
  size_t sets, operands;
  uint4 *at(size_t set, size_t operand) const {
    return reinterpret_cast<uint4 *>(data) + (set % sets * operands + operand) * n;
  }
};

struct Variant {
  std::string name;
  std::function<void(size_t k)> launch;
};

struct Timing {
  double us, us_min;
};

class Timer {
 public:
  Timer() {
    MUST(cudaEventCreate(&from_));
    MUST(cudaEventCreate(&to_));
    MUST(cudaMalloc(&plug_, 2 * plug_bytes));
  }

  Timing time(const Variant &v, int samples, double batch_target_us) {
    double host_us = 0;
    v.launch(0);
    double us = batch(v, 1, 3, 0, &host_us);
    int64_t n = std::clamp<int64_t>(std::ceil(batch_target_us / us), 1, 500);
    double plug_us = us < 100 ? 1.5 * n * host_us + 50 : 0;
    std::vector<double> times;
    for (int s = 0; s < samples; s++) times.push_back(batch(v, 4 + s * n, n, plug_us, nullptr));
    std::sort(times.begin(), times.end());
    return {times[times.size() / 2], times[0]};
  }

 private:
  double batch(const Variant &v, size_t first, int64_t n, double plug_us, double *host_us) {
    for (double t = 0; t < plug_us; t += 2.0 * plug_bytes / 4e6) {
      MUST(cudaMemcpyAsync(plug_, plug_ + plug_bytes, plug_bytes, cudaMemcpyDeviceToDevice));
    }
    MUST(cudaEventRecord(from_));
    auto start = std::chrono::steady_clock::now();
    for (int64_t k = 0; k < n; k++) v.launch(first + k);
    if (host_us)
      *host_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / n;
    MUST(cudaEventRecord(to_));
    MUST(cudaEventSynchronize(to_));
    MUST(cudaGetLastError());
    float ms = 0;
    MUST(cudaEventElapsedTime(&ms, from_, to_));
    return 1000.0 * ms / n;
  }
  cudaEvent_t from_, to_;
  char *plug_;
};

// Launches of a kernel in blocks and grids of several sizes. each: vectors that a thread takes in a pass.
template <class Kernel, class Launch>
void add_grids(const Arena &arena, int processors, Kernel *kernel, double each, const std::string &what, Launch launch,
               std::vector<Variant> *variants) {
  cudaFuncAttributes limits;
  MUST(cudaFuncGetAttributes(&limits, kernel));
  for (int block : {256, 512, 1024}) {
    if (block > limits.maxThreadsPerBlock) continue;  // more registers than so many threads can have
    const size_t plain = std::ceil(arena.n / (block * each));
    for (int per_processor : {0, 2, 4, 8, 16}) {  // 0: a plain grid
      size_t persistent = static_cast<size_t>(per_processor) * processors;
      if (per_processor && (persistent >= plain || per_processor * block > 8192)) continue;
      unsigned grid = static_cast<unsigned>(per_processor ? persistent : plain);
      std::string name = what + ", block " + std::to_string(block) + ", " +
                         (per_processor ? std::to_string(per_processor) + " blocks an SM" : "plain grid");
      variants->push_back({name, [=](size_t k) { launch(grid, block, k); }});
    }
  }
}

std::string caches(bool past) { return past ? "" : ", through the caches"; }

template <int Reads, int Writes, int Unroll, bool Past>
void add_kernels(const Arena &arena, int processors, std::vector<Variant> *variants) {
  const auto launch = [=](unsigned grid, int block, size_t k) {
    const uint4 *a = arena.at(k, 0), *b = arena.at(k, Reads > 1 ? 1 : 0);
    uint4 *out = arena.at(k, Writes ? Reads : 0);
    stream<Reads, Writes, Unroll, Past><<<grid, block>>>(a, b, out, Writes > 1 ? out + arena.n : out, arena.n);
  };
  add_grids(arena, processors, stream<Reads, Writes, Unroll, Past>, Unroll, "unroll " + std::to_string(Unroll) + caches(Past), launch,
            variants);
}

template <int Reads, int Writes>
std::vector<Variant> variants_of(const Arena &arena, int processors) {
  std::vector<Variant> v;
  add_kernels<Reads, Writes, 1, true>(arena, processors, &v);
  add_kernels<Reads, Writes, 2, true>(arena, processors, &v);
  add_kernels<Reads, Writes, 4, true>(arena, processors, &v);
  add_kernels<Reads, Writes, 8, true>(arena, processors, &v);
  add_kernels<Reads, Writes, 1, false>(arena, processors, &v);
  add_kernels<Reads, Writes, 2, false>(arena, processors, &v);
  if (Reads == 1 && Writes == 1) {
    v.push_back({"copy engine", [=](size_t k) {
                   MUST(cudaMemcpyAsync(arena.at(k, 1), arena.at(k, 0), arena.n * 16, cudaMemcpyDeviceToDevice));
                 }});
  }
  if (Reads == 0) {
    v.push_back({"memset", [=](size_t k) { MUST(cudaMemsetAsync(arena.at(k, 0), 0x5a, arena.n * 16)); }});
  }
  return v;
}

template <int Reads, int Split, bool Apart>
void add_sifts(const Arena &arena, int processors, std::vector<Variant> *variants) {
  const auto add = [&](auto past) {
    constexpr bool Past = decltype(past)::value;
    const auto launch = [=](unsigned grid, int block, size_t k) {
      sift<Reads, Split, Apart, Past><<<grid, block>>>(arena.at(k, 0), arena.at(k, Reads), arena.n);
    };
    add_grids(arena, processors, sift<Reads, Split, Apart, Past>, 1.0 / Split,
              std::to_string(Reads / Split) + " loads a thread" + (Apart ? ", apart" : "") + caches(Past), launch, variants);
  };
  add(std::true_type{});
  add(std::false_type{});
}

template <int Reads>
std::vector<Variant> sifts_of(const Arena &arena, int processors) {
  std::vector<Variant> v;
  add_sifts<Reads, 1, true>(arena, processors, &v);
  add_sifts<Reads, 1, false>(arena, processors, &v);
  add_sifts<Reads, 4, false>(arena, processors, &v);
  add_sifts<Reads, 16, false>(arena, processors, &v);
  return v;
}

struct Mix {
  const char *name;
  int reads, writes;
  std::vector<Variant> (*variants)(const Arena &arena, int processors);
};
const Mix mixes[] = {
    {"read", 1, 0, variants_of<1, 0>},         {"read64_write1", 64, 1, sifts_of<64>}, {"read16_write1", 16, 1, sifts_of<16>},
    {"read2_write1", 2, 1, variants_of<2, 1>}, {"copy", 1, 1, variants_of<1, 1>},      {"read1_write2", 1, 2, variants_of<1, 2>},
    {"fill", 0, 1, variants_of<0, 1>},
};

// What a launch costs the host: the median of 33, each with an empty queue, of a kernel that takes as many bytes as ours.
struct Bytes {
  char at[832];
};
__global__ void nothing(const __grid_constant__ Bytes) {}

double launch_host_us() {
  std::vector<double> times;
  for (int i = 0; i < 43; i++) {
    MUST(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    nothing<<<1, 256>>>(Bytes{});
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (i >= 10) times.push_back(took.count());
  }
  std::nth_element(times.begin(), times.begin() + 16, times.end());
  return times[16];
}

}  // namespace

int main(int argc, char **argv) {
  bool quick = false;
  std::FILE *out = stdout;
  for (int i = 1; i < argc; i++) {
    if (!std::strcmp(argv[i], "--quick"))
      quick = true;
    else if (!std::strcmp(argv[i], "--out") && i + 1 < argc && (out = std::fopen(argv[++i], "w")))
      continue;
    else
      return std::fprintf(stderr, "tcu_ceiling_cuda takes --out FILE (that can be written) and --quick\n"), 2;
  }
  cudaDeviceProp device;
  MUST(cudaGetDeviceProperties(&device, 0));
  int driver = 0;
  MUST(cudaDriverGetVersion(&driver));
  std::fprintf(out, "{\"meta\": \"device\", \"value\": \"%s\"}\n{\"meta\": \"driver_cuda\", \"value\": \"%d.%d\"}\n",
               device.name, driver / 1000, driver % 1000 / 10);
  std::fprintf(out, "{\"meta\": \"launch_host_us\", \"value\": %.2f}\n", launch_host_us());
  size_t largest = size_t{1} << 32, free_bytes = 0, all_bytes = 0;
  MUST(cudaMemGetInfo(&free_bytes, &all_bytes));
  while (largest + 3 * plug_bytes > free_bytes) largest /= 4;
  const size_t cache = device.l2CacheSize;
  const size_t arena_bytes = std::max(largest, 4 * cache) + largest / 8 + (size_t{64} << 20);
  char *data = nullptr;
  MUST(cudaMalloc(&data, arena_bytes));
  randomize<<<device.multiProcessorCount * 8, 256>>>(reinterpret_cast<uint32_t *>(data), arena_bytes / 4);
  Timer timer;

  for (const Mix &mix : mixes) {
    for (size_t bytes = 1 << 12; bytes <= largest; bytes *= quick ? 16 : 4) {
      const size_t operands = mix.reads + mix.writes, n = bytes / 16 / operands / 32 * 32;
      if (n == 0) continue;
      const size_t sets = std::clamp<size_t>((4 * cache + bytes - 1) / bytes, 1, 4096);
      const Arena arena{data, n, sets, operands};
      // All variants briefly, then the three fastest at length.
      std::vector<Variant> variants = mix.variants(arena, device.multiProcessorCount);
      std::vector<std::pair<double, size_t>> order;
      for (size_t v = 0; v < variants.size(); v++) order.push_back({timer.time(variants[v], 3, 200).us, v});
      std::sort(order.begin(), order.end());
      Timing best{INFINITY, INFINITY};
      std::string name;
      for (size_t k = 0; k < std::min<size_t>(3, order.size()); k++) {
        Timing t = timer.time(variants[order[k].second], quick ? 9 : 15, 1200);
        if (t.us < best.us) best = t, name = variants[order[k].second].name;
      }
      const double moved = 16.0 * arena.n * operands;
      std::fprintf(out,
                   "{\"ceiling\": \"%s\", \"read\": %.0f, \"written\": %.0f, \"bytes\": %.0f, \"us\": %.4f, "
                   "\"us_min\": %.4f, \"gbps\": %.1f, \"variant\": \"%s\"}\n",
                   mix.name, 16.0 * arena.n * mix.reads, 16.0 * arena.n * mix.writes, moved, best.us, best.us_min,
                   moved / best.us / 1e3, name.c_str());
      std::fflush(out);
    }
  }
  return 0;
}
