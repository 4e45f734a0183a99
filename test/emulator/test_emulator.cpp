// The emulator runs right kernels right: every feature once, on many schedules.
#include "test_support.h"

#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

namespace {

// --- a block reduction: shuffles, static and dynamic shared memory, the last block by a ticket -----------------------

struct SumParams {
  const float *in;
  float *partial, *out;
  unsigned *ticket;
  unsigned n;
};

__device__ __forceinline__ float warp_sum(float v) {
  for (int offset = 16; offset; offset /= 2) v += __shfl_down_sync(0xffffffffu, v, offset);
  return v;
}

__device__ float block_sum(float v) {
  TCU_SHARED(float, per_warp, 32);
  v = warp_sum(v);
  __syncthreads();  // per_warp may still be read by the call before
  if (threadIdx.x % 32 == 0) per_warp[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? per_warp[threadIdx.x] : 0;
  return threadIdx.x < 32 ? warp_sum(v) : 0;
}

__global__ void __launch_bounds__(256) sum_kernel(const __grid_constant__ SumParams p) {
  TCU_SHARED(unsigned, last, 1);
  float v = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += gridDim.x * blockDim.x) v += __ldg(p.in + i);
  v = block_sum(v);
  if (threadIdx.x == 0) {
    p.partial[blockIdx.x] = v;
    __threadfence();
    *last = atomicInc(p.ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!*last) return;
  v = block_sum(threadIdx.x < gridDim.x ? p.partial[threadIdx.x] : 0);
  if (threadIdx.x == 0) *p.out = v;
}

// --- decoupled look-back, in ticket order ----------------------------------------------------------------------------

struct LookbackParams {
  const unsigned *in;
  unsigned *out, *ticket;
  unsigned long long *flags;  // per tile: status (0 none, 1 aggregate, 2 prefix) << 32 | value
};

__global__ void lookback_kernel(const __grid_constant__ LookbackParams p) {
  TCU_SHARED(unsigned, shared, 33);  // [32]: tile, then prefix
  if (threadIdx.x == 0) shared[32] = atomicAdd(p.ticket, 1u);
  __syncthreads();
  const unsigned tile = shared[32], i = tile * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned v = p.in[i];
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    unsigned other = __shfl_up_sync(0xffffffffu, v, offset);
    if (lane >= offset) v += other;
  }
  __syncthreads();
  if (lane == 31) shared[warp] = v;
  __syncthreads();
  for (unsigned w = 0; w < warp; ++w) v += shared[w];
  const unsigned warps = blockDim.x / 32;
  if (threadIdx.x == 0) {
    unsigned total = 0, prefix = 0;
    for (unsigned w = 0; w < warps; ++w) total += shared[w];
    if (tile) {
      atomicExch(p.flags + tile, 1ull << 32 | total);
      for (unsigned t = tile; t-- > 0;) {
        unsigned long long flag;
        while (!((flag = *static_cast<volatile unsigned long long *>(p.flags + t)) >> 32)) __nanosleep(20);
        prefix += unsigned(flag);
        if (flag >> 32 == 2) break;
      }
    }
    atomicExch(p.flags + tile, 2ull << 32 | (prefix + total));
    shared[32] = prefix;
  }
  __syncthreads();
  p.out[i] = v + shared[32];
}

// --- the rest of the warp, atomics, dynamic shared memory, indices ---------------------------------------------------

struct IntsParams {
  int *out;
};

__global__ void warp_kernel(const __grid_constant__ IntsParams p) {
  const int lane = int(threadIdx.x);
  const unsigned all = 0xffffffffu, half = lane < 16 ? 0xffffu : 0xffff0000u;
  int bad = 0;
  auto check = [&](bool right, int bit) { bad |= right ? 0 : 1 << bit; };
  check(__shfl_sync(all, lane, 5) == 5, 0);
  check(__shfl_sync(all, lane, 2, 8) == (lane & ~7) + 2, 1);
  check(__shfl_xor_sync(all, double(lane), 3) == (lane ^ 3), 2);
  check(__shfl_up_sync(all, 1ull << lane, 4, 16) == 1ull << ((lane & 15) < 4 ? lane : lane - 4), 3);
  check(__shfl_down_sync(half, lane, 1, 16) == ((lane & 15) == 15 ? lane : lane + 1), 4);
  check(__ballot_sync(all, lane % 3 == 0) == 0x49249249u, 5);
  check(__ballot_sync(half, lane & 1) == (0xaaaaaaaau & half), 6);
  check(__any_sync(all, lane == 7) && !__any_sync(all, 0) && __all_sync(all, 1) && !__all_sync(all, lane), 7);
  check(__match_any_sync(all, lane / 4) == 0xfu << (lane / 4 * 4), 8);
  check(__reduce_add_sync(all, lane) == 496 && __reduce_max_sync(half, unsigned(lane)) == (lane < 16 ? 15u : 31u), 9);
  check(__activemask() >> lane & 1, 10);
  check(__syncthreads_or(lane == 3) == 1 && __syncthreads_and(lane != 3) == 0 && __syncthreads_count(lane < 5) == 5, 11);
  check(__popc(0xff0u) == 8 && __ffs(8) == 4 && __ffs(0) == 0 && __clz(1) == 31 && __brev(1u) == 0x80000000u, 12);
  check(__umulhi(1u << 31, 6u) == 3 && __umul64hi(1ull << 63, 6) == 3 && __mul64hi(-1, 1) == -1, 13);
  check(max(min(3, 5), 2) == 3 && __uint_as_float(0x3f800000u) == 1.0f, 14);
  __syncwarp(half);
  p.out[lane] = bad;
}

struct AtomicParams {
  int *sum, *low, *high;
  unsigned *bits, *lock, *guarded;
  float *real;
};

__global__ void atomic_kernel(const __grid_constant__ AtomicParams p) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(p.sum, i);
  atomicMin(p.low, -i);
  atomicMax(p.high, i);
  atomicOr(p.bits, 1u << (i % 32));
  atomicAdd(p.real, 0.5f);
  while (atomicCAS(p.lock, 0u, 1u)) __nanosleep(1);
  const unsigned seen = *p.guarded;
  __threadfence();
  *p.guarded = seen + 1;
  atomicExch(p.lock, 0u);
}

__global__ void dynamic_kernel(const __grid_constant__ IntsParams p) {
  TCU_DYNAMIC_SHARED(int, buffer);
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  buffer[t] = int(b * threads + t);
  __syncthreads();
  p.out[b * threads + t] = buffer[threads - 1 - t];
}

__global__ void many_syncs_kernel(const __grid_constant__ IntsParams p) {
  TCU_SHARED(int, ring, 256);
  ring[threadIdx.x] = int(threadIdx.x);
  for (int i = 0; i < 25; ++i) {
    __syncthreads();
    int v = ring[(threadIdx.x + 1) % 256];
    __syncthreads();
    ring[threadIdx.x] = v;
  }
  p.out[blockIdx.x * 256 + threadIdx.x] = ring[threadIdx.x];
}

__global__ void order_kernel(const __grid_constant__ IntsParams p) {
  p.out[atomicAdd(p.out, 1) + 1] = int(blockIdx.x * blockDim.x + threadIdx.x);
}

}  // namespace

TEST_CASE("block sum by shuffles and shared memory, finished by the last block") {
  const unsigned n = 5003, blocks = 7;
  std::vector<float> in(n);
  std::iota(in.begin(), in.end(), 1.0f);
  DeviceArray<float> x(in), partial(blocks), out(1);
  DeviceArray<unsigned> ticket(1);
  ticket.fill(0);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    emu::set_seed(seed);
    REQUIRE(launch<&sum_kernel>(blocks, 256, SumParams{x.data(), partial.data(), out.data(), ticket.data(), n}) == cudaSuccess);
    REQUIRE(out.host()[0] == float(n) * (n + 1) / 2);
  }
  REQUIRE(emu::launch_count() == 1);
}

TEST_CASE("decoupled look-back by ticket") {
  const unsigned tiles = 12, block = 64;
  std::vector<unsigned> in(tiles * block), expected(in.size());
  for (unsigned i = 0; i < in.size(); ++i) in[i] = i * 2654435761u >> 20;
  std::partial_sum(in.begin(), in.end(), expected.begin());
  DeviceArray<unsigned> x(in), out(in.size()), ticket(1);
  DeviceArray<unsigned long long> flags(tiles);
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    emu::set_seed(seed);
    ticket.fill(0);
    flags.fill(0);
    out.fill(0xff);
    REQUIRE(launch<&lookback_kernel>(tiles, block, LookbackParams{x.data(), out.data(), ticket.data(), flags.data()}) ==
            cudaSuccess);
    REQUIRE(out.host() == expected);
  }
}

TEST_CASE("warp operations and bit intrinsics") {
  DeviceArray<int> out(32);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    emu::set_seed(seed);
    cudaError_t error = launch<&warp_kernel>(1, 32, IntsParams{out.data()});
    INFO(emu::last_error());
    REQUIRE(error == cudaSuccess);
    REQUIRE(out.host() == std::vector<int>(32, 0));
  }
}

TEST_CASE("atomics and a lock") {
  DeviceArray<int> ints(std::vector<int>{0, 0, 0});
  DeviceArray<unsigned> words(std::vector<unsigned>{0, 0, 0});
  DeviceArray<float> real(std::vector<float>{0});
  AtomicParams p{ints.data(), ints.data() + 1, ints.data() + 2, words.data(), words.data() + 1, words.data() + 2, real.data()};
  REQUIRE(launch<&atomic_kernel>(3, 96, p) == cudaSuccess);
  REQUIRE(ints.host() == std::vector<int>{287 * 288 / 2, -287, 287});
  REQUIRE(words.host() == std::vector<unsigned>{0xffffffffu, 0, 288});
  REQUIRE(real.host()[0] == 144.0f);
}

TEST_CASE("dynamic shared memory, three dimensions of threads and blocks") {
  DeviceArray<int> out(5 * 3 * 2 * 64);
  REQUIRE(launch<&dynamic_kernel>(dim3(5, 3, 2), dim3(8, 4, 2), IntsParams{out.data()}, 64 * sizeof(int)) == cudaSuccess);
  std::vector<int> host = out.host();
  for (int i = 0; i < int(host.size()); ++i) REQUIRE(host[i] == i / 64 * 64 + 63 - i % 64);
}

TEST_CASE("twenty blocks of 256 threads with fifty barriers are quick") {
  DeviceArray<int> out(20 * 256);
  auto start = std::chrono::steady_clock::now();
  REQUIRE(launch<&many_syncs_kernel>(20, 256, IntsParams{out.data()}) == cudaSuccess);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(seconds < 10);  // 0.06 s under ASan on an idle core
  std::vector<int> host = out.host();
  for (int i = 0; i < int(host.size()); ++i) REQUIRE(host[i] == (i + 25) % 256);
}

TEST_CASE("the same seed gives the same schedule") {
  DeviceArray<int> out(1 + 4 * 32);
  auto order = [&](std::uint64_t seed) {
    out.fill(0);
    emu::set_seed(seed);
    REQUIRE(launch<&order_kernel>(4, 32, IntsParams{out.data()}) == cudaSuccess);
    return out.host();
  };
  REQUIRE(order(3) == order(3));
  REQUIRE(order(3) != order(4));
}

TEST_CASE("launches from several host threads take turns") {
  const unsigned n = 2000;
  std::vector<float> results(4);
  std::vector<std::thread> threads;
  for (float &result : results)
    threads.emplace_back([&result] {
      std::vector<float> in(n, 1.0f);
      float *x = nullptr, *partial = nullptr;
      unsigned *ticket = nullptr;
      cudaMalloc(&x, n * sizeof(float));
      cudaMalloc(&partial, 4 * sizeof(float));
      cudaMalloc(&ticket, sizeof(unsigned));
      cudaMemcpy(x, in.data(), n * sizeof(float), cudaMemcpyHostToDevice);
      cudaMemset(ticket, 0, sizeof(unsigned));
      for (int i = 0; i < 10; ++i) launch<&sum_kernel>(3, 64, SumParams{x, partial, partial + 3, ticket, n});
      cudaMemcpy(&result, partial + 3, sizeof(float), cudaMemcpyDefault);
      for (void *p : {static_cast<void *>(x), static_cast<void *>(partial), static_cast<void *>(ticket)}) cudaFree(p);
    });
  for (std::thread &t : threads) t.join();
  REQUIRE(results == std::vector<float>(4, float(n)));
}

TEST_CASE("a kernel of a shared object, by cudaLibraryLoadData") {
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  struct {
    float *data;
    float factor;
  } p{};
  std::vector<float> in(64);
  std::iota(in.begin(), in.end(), 0.0f);
  DeviceArray<float> x(in);
  p = {x.data(), 2.0f};
  REQUIRE(cudaLibraryLoadData(&library, TEST_MODULE, nullptr, nullptr, 0, nullptr, nullptr, 0) == cudaSuccess);
  REQUIRE(cudaLibraryGetKernel(&kernel, library, "absent") == cudaErrorSymbolNotFound);
  REQUIRE(cudaLibraryGetKernel(&kernel, library, "scale") == cudaSuccess);
  void *args[] = {&p};
  REQUIRE(cudaLaunchKernel(reinterpret_cast<const void *>(kernel), 1, 64, args, 0, nullptr) == cudaSuccess);
  for (int i = 0; i < 64; ++i) REQUIRE(x.host()[i] == 2.0f * float(63 - i));
  REQUIRE(cudaLibraryUnload(library) == cudaSuccess);
  REQUIRE(cudaGetLastError() == cudaErrorSymbolNotFound);
}

TEST_CASE("launch and memory errors as CUDA gives them") {
  DeviceArray<int> out(1024);
  IntsParams p{out.data()};
  void *args[] = {&p};
  const void *kernel = tcu::cuda::kernel_address<&dynamic_kernel>();
  auto with = [&](dim3 grid, dim3 block, std::size_t shared) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    return cudaLaunchKernelExC(&config, kernel, args);
  };
  REQUIRE(with(1, 64, 256) == cudaSuccess);
  REQUIRE(with(1, 0, 0) == cudaErrorInvalidConfiguration);
  REQUIRE(with(0, 32, 0) == cudaErrorInvalidConfiguration);
  REQUIRE(with(1, 1025, 0) == cudaErrorInvalidConfiguration);
  REQUIRE(with(1, dim3(1, 1, 65), 0) == cudaErrorInvalidConfiguration);
  REQUIRE(with(dim3(1, 65536), 32, 0) == cudaErrorInvalidConfiguration);
  REQUIRE(cudaGetLastError() == cudaErrorInvalidConfiguration);
  REQUIRE(cudaGetLastError() == cudaSuccess);
  REQUIRE(with(1, 64, (48 << 10) + 1) == cudaErrorInvalidValue);
  REQUIRE(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10) == cudaSuccess);
  REQUIRE(with(1, 64, 100 << 10) == cudaSuccess);
  REQUIRE(cudaLaunchKernel(nullptr, 1, 32, args, 0, nullptr) == cudaErrorInvalidDeviceFunction);

  void *pointer = nullptr;
  int host = 0;
  REQUIRE(cudaMalloc(&pointer, std::size_t(1) << 40) == cudaErrorMemoryAllocation);
  REQUIRE(cudaMemcpy(&host, out.data(), 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  REQUIRE(cudaMemcpy(&host, out.data() + 1024, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  REQUIRE(cudaFree(&host) == cudaErrorInvalidValue);
  REQUIRE(cudaSetDevice(1) == cudaErrorInvalidDevice);
  cudaGetLastError();
}

namespace {
// Each block tells all of its cluster its number; each adds up what it was told.
__global__ void cluster_kernel(const __grid_constant__ IntsParams p) {
  TCU_SHARED(int, told, 16);
  const unsigned size = 4, rank = blockIdx.x % size;
  emu::cluster_arrive();
  emu::cluster_wait();
  if (threadIdx.x < size) *static_cast<int *>(emu::shared_of(threadIdx.x, told + rank)) = int(blockIdx.x);
  emu::cluster_arrive();
  emu::cluster_wait();
  if (threadIdx.x == 0) p.out[blockIdx.x] = told[0] + told[1] + told[2] + told[3];
}
// The first block alone arrives.
__global__ void absent_kernel(const __grid_constant__ IntsParams) {
  if (blockIdx.x > 0) return;
  emu::cluster_arrive();
  emu::cluster_wait();
}
}  // namespace

TEST_CASE("clusters of blocks reach each other's shared memory") {
  DeviceArray<int> out(64);
  IntsParams p{out.data()};
  void *args[] = {&p};
  const auto with = [&](const void *kernel, unsigned grid, unsigned size) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {size, 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = grid, config.blockDim = 32, config.attrs = &attribute, config.numAttrs = 1;
    return cudaLaunchKernelExC(&config, kernel, args);
  };
  const void *const tells = tcu::cuda::kernel_address<&cluster_kernel>();
  for (int repeat = 0; repeat < 20; ++repeat) {
    REQUIRE(with(tells, 12, 4) == cudaSuccess);
    const auto told = out.host();
    for (int i = 0; i < 12; ++i) REQUIRE(told[size_t(i)] == i / 4 * 16 + 6);
  }
  REQUIRE(with(tells, 13, 4) == cudaErrorInvalidConfiguration);
  REQUIRE(with(tells, 17, 17) == cudaErrorInvalidConfiguration);
  REQUIRE(with(tells, 12, 2) == cudaErrorLaunchFailure);  // it asks for blocks that there are not
  REQUIRE(with(tcu::cuda::kernel_address<&absent_kernel>(), 2, 2) == cudaErrorLaunchFailure);
  REQUIRE(std::string(emu::last_error()).find("deadlock") != std::string::npos);
  cudaGetLastError();
}

TEST_CASE("streams, events, properties") {
  cudaStream_t stream = nullptr;
  cudaEvent_t a = nullptr, b = nullptr;
  float ms = -1;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaEventCreate(&a) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&b, cudaEventDefault) == cudaSuccess);
  REQUIRE(cudaEventElapsedTime(&ms, a, b) == cudaErrorInvalidResourceHandle);
  REQUIRE(cudaEventRecord(a, stream) == cudaSuccess);
  REQUIRE(cudaEventRecord(b, stream) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(stream, b) == cudaSuccess);
  REQUIRE(cudaEventElapsedTime(&ms, a, b) == cudaSuccess);
  REQUIRE(ms >= 0);
  REQUIRE(cudaEventDestroy(a) == cudaSuccess);
  REQUIRE(cudaEventDestroy(b) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  cudaDeviceProp prop;
  int sms = 0, blocks = 0;
  REQUIRE(cudaGetDeviceProperties(&prop, 0) == cudaSuccess);
  REQUIRE(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess);
  REQUIRE(std::strcmp(prop.name, "emulator") == 0);
  REQUIRE(sms == prop.multiProcessorCount);
  REQUIRE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tcu::cuda::kernel_address<&sum_kernel>(), 256, 0) ==
          cudaSuccess);
  REQUIRE(blocks == 8);
  cudaGetLastError();
}
