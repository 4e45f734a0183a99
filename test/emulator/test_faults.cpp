// The emulator catches wrong kernels: each planted fault is reported, dies under ASan, or changes the result for one
// of a few seeds.
#include "test_support.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <functional>

namespace {

struct Params {
  float *data;
  int n;
};

// Reverses a block through shared memory.
template <bool barrier>
__global__ void reverse_kernel(const __grid_constant__ Params p) {
  TCU_SHARED(float, staged, 64);
  staged[threadIdx.x] = p.data[threadIdx.x];
  if constexpr (barrier) __syncthreads();
  p.data[threadIdx.x] = staged[63 - threadIdx.x];
}

[[maybe_unused]] __global__ void global_overrun_kernel(const __grid_constant__ Params p) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i <= p.n) p.data[0] = p.data[i];  // planted: < n
}
[[maybe_unused]] __global__ void shared_overrun_kernel(const __grid_constant__ Params p) {
  TCU_SHARED(float, staged, 33);
  if (threadIdx.x == 0) p.data[0] = staged[p.n];
}
[[maybe_unused]] __global__ void dynamic_overrun_kernel(const __grid_constant__ Params p) {
  TCU_DYNAMIC_SHARED(float, staged);
  __syncthreads();
  if (threadIdx.x == 31) staged[p.n] = 1;
}
[[maybe_unused]] __global__ void stack_overrun_kernel(const __grid_constant__ Params p) {
  float local[4] = {};
  float *volatile pointer = local;  // so that UBSan's check of array indices does not see it first
  __syncthreads();
  p.data[0] = pointer[p.n];
}

// 0: waits for its turn before it reads; 1: planted: afterwards; 2: planted: never.
template <int fault>
__global__ void early_kernel(const __grid_constant__ Params p) {
  emu::begin_early();
  if (fault == 0) emu::await_turn();
  if (fault < 2) p.data[threadIdx.x] += 1;
  if (fault == 1) emu::await_turn();
}

__global__ void early_return_kernel(const __grid_constant__ Params p) {
  if (int(threadIdx.x) >= p.n) return;
  __syncthreads();
}
__global__ void two_barriers_kernel(const __grid_constant__ Params p) {
  if (int(threadIdx.x) < p.n)
    __syncthreads();
  else
    __syncthreads();
}
__global__ void warp_and_block_kernel(const __grid_constant__ Params p) {
  if (int(threadIdx.x) < p.n) __syncwarp();
  __syncthreads();
}
__global__ void exited_lane_kernel(const __grid_constant__ Params p) {
  if (int(threadIdx.x) >= p.n) return;
  p.data[0] = __shfl_sync(0xffffffffu, 1.0f, 0);
}
__global__ void mixed_operations_kernel(const __grid_constant__ Params p) {
  if (int(threadIdx.x) < p.n)
    p.data[0] = __shfl_sync(0xffffffffu, 1.0f, 0);
  else
    p.data[1] = float(__ballot_sync(0xffffffffu, 1));
}
__global__ void foreign_mask_kernel(const __grid_constant__ Params) { __syncwarp(1u); }
__global__ void throwing_kernel(const __grid_constant__ Params) { throw std::runtime_error("planted"); }
__global__ void trap_kernel(const __grid_constant__ Params p) {
  if (int(threadIdx.x) == p.n) __trap();
}
__global__ void big_shared_kernel(const __grid_constant__ Params p) {
  TCU_SHARED(double, buffer, 6145);
  buffer[p.n] = 0;
}

__global__ void unwritten_kernel(const __grid_constant__ Params p) {
  TCU_SHARED(float, staged, 64);
  if (int(threadIdx.x) != p.n) staged[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) p.data[0] = staged[p.n];
}
__global__ void misaligned_load_kernel(const __grid_constant__ Params p) {
  const float4 v = __ldcs(reinterpret_cast<const float4 *>(p.data + p.n));
  p.data[0] = v.x;
}
__global__ void misaligned_store_kernel(const __grid_constant__ Params p) {
  __stcs(reinterpret_cast<float2 *>(p.data + p.n), make_float2(1, 2));
}
[[maybe_unused]] __global__ void misaligned_plain_kernel(const __grid_constant__ Params p) {
  const float4 v = *reinterpret_cast<const float4 *>(p.data + p.n);
  p.data[0] = v.x;
}

// Block b waits for block b - 1 by its index, not by a ticket: with few resident blocks it may never start.
__global__ void chain_kernel(const __grid_constant__ Params p) {
  if (threadIdx.x == 0) {
    while (blockIdx.x && static_cast<volatile float *>(p.data)[blockIdx.x - 1] == 0) __nanosleep(20);
    p.data[blockIdx.x] = 1;
  }
}

// The emulator's error for a launch that must fail.
template <auto Kernel>
std::string error_of(unsigned threads, int n, unsigned blocks = 1) {
  DeviceArray<float> data(256);
  data.fill(0);
  REQUIRE(launch<Kernel>(blocks, threads, Params{data.data(), n}) == cudaErrorLaunchFailure);
  REQUIRE(cudaGetErrorString(cudaGetLastError()) == std::string(emu::last_error()));
  return emu::last_error();
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

// What a child process that runs the function prints on stderr; "" if it ends well.
[[maybe_unused]] std::string death_of(const std::function<void()> &function) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    function();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, std::size_t(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : text;
}

}  // namespace

TEST_CASE("a missing barrier shows for some seed") {
  auto wrong = [](auto run) {
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      emu::set_seed(seed);
      std::vector<float> in(64);
      for (int i = 0; i < 64; ++i) in[i] = float(i + 1);
      DeviceArray<float> data(in);
      REQUIRE(run(Params{data.data(), 64}) == cudaSuccess);
      count += data.host() != std::vector<float>(in.rbegin(), in.rend());
    }
    return count;
  };
  REQUIRE(wrong([](Params p) { return launch<&reverse_kernel<true>>(1, 64, p); }) == 0);
  REQUIRE(wrong([](Params p) { return launch<&reverse_kernel<false>>(1, 64, p); }) > 0);
}

TEST_CASE("barrier divergence is reported, with kernel, block and thread") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    emu::set_seed(seed);
    std::string error = error_of<&early_return_kernel>(96, 90);
    REQUIRE(has(error, "barrier divergence"));
    REQUIRE(has(error, "early_return_kernel block (0,0,0) thread ("));
    REQUIRE(has(error, "TCU_EMULATOR_SEED=" + std::to_string(seed) + ", launch 1]"));
    REQUIRE(has(error_of<&two_barriers_kernel>(64, 32), "barrier divergence"));
    error = error_of<&warp_and_block_kernel>(64, 40);
    REQUIRE((has(error, "that wait at the block barrier") || has(error, "waits for this one at __syncwarp")));
  }
}

TEST_CASE("warp operations with the wrong lanes are reported") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    emu::set_seed(seed);
    std::string error = error_of<&exited_lane_kernel>(32, 20);
    REQUIRE((has(error, "that have ended") || has(error, "the thread ends while lane")));
    REQUIRE(has(error_of<&mixed_operations_kernel>(32, 7), "waits at another operation"));
    REQUIRE(has(error_of<&foreign_mask_kernel>(32, 0), "leaves out the calling lane"));
  }
}

TEST_CASE("traps, exceptions and too much shared memory are reported") {
  REQUIRE(has(error_of<&trap_kernel>(64, 33), "thread (33,0,0): __trap()"));
  REQUIRE(has(error_of<&throwing_kernel>(64, 0), "planted"));
  REQUIRE(has(error_of<&big_shared_kernel>(64, 0), "passes 48 KiB"));
}

TEST_CASE("a misaligned vector load or store is reported") {
  for (int n : {1, 2, 3}) REQUIRE(has(error_of<&misaligned_load_kernel>(1, n), "thread (0,0,0): misaligned access"));
  REQUIRE(has(error_of<&misaligned_store_kernel>(1, 3), "of 8 bytes"));
  DeviceArray<float> data(16);
  REQUIRE(launch<&misaligned_load_kernel>(1, 1, Params{data.data(), 4}) == cudaSuccess);
  REQUIRE(launch<&misaligned_store_kernel>(1, 1, Params{data.data(), 2}) == cudaSuccess);
}

TEST_CASE("a dependency on the order of blocks deadlocks for some seed, and is reported") {
  emu::set_spin_limit(200);
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    emu::set_seed(seed);
    DeviceArray<float> data(16);
    data.fill(0);
    if (launch<&chain_kernel>(16, 32, Params{data.data(), 16}) == cudaSuccess) continue;
    REQUIRE(has(emu::last_error(), "deadlock"));
    REQUIRE(has(emu::last_error(), "blocks not started"));
    ++failures;
  }
  REQUIRE(failures > 0);
  cudaGetLastError();
  emu::set_spin_limit(10000);
}

TEST_CASE("a launch after a failed one is sound") {
  error_of<&early_return_kernel>(96, 90);
  DeviceArray<float> data(64);
  REQUIRE(launch<&reverse_kernel<true>>(1, 64, Params{data.data(), 64}) == cudaSuccess);
}

TEST_CASE("a kernel that begins early and never waits for its turn") {
  DeviceArray<float> data(32);
  REQUIRE(launch<&early_kernel<2>>(2, 32, Params{data.data(), 32}) != cudaSuccess);
  REQUIRE(has(emu::last_error(), "did not wait for its turn"));
  REQUIRE(launch<&early_kernel<0>>(2, 32, Params{data.data(), 32}) == cudaSuccess);
}

TEST_CASE("shared memory that was never written does not read as zero") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    emu::set_seed(seed);
    DeviceArray<float> data(64);
    data.fill(0);
    REQUIRE(launch<&unwritten_kernel>(1, 64, Params{data.data(), 7}) == cudaSuccess);
    REQUIRE(!(std::fabs(data.host()[0]) < 1e38f));
  }
}

#ifdef __SANITIZE_ADDRESS__
TEST_CASE("an out-of-bounds access dies with an ASan report that names the thread") {
  auto death = [](auto run) {
    return death_of([&] {
      DeviceArray<float> data(37);
      run(Params{data.data(), 37});
    });
  };
  std::string text = death([](Params p) { launch<&global_overrun_kernel>(2, 32, p); });
  REQUIRE(has(text, "AddressSanitizer: heap-buffer-overflow"));
  REQUIRE(has(text, "global_overrun_kernel block (1,0,0) thread (5,0,0)"));
  text = death([](Params p) { launch<&shared_overrun_kernel>(1, 32, Params{p.data, 33}); });
  REQUIRE(has(text, "AddressSanitizer: heap-buffer-overflow"));
  text = death([](Params p) { launch<&dynamic_overrun_kernel>(1, 32, Params{p.data, 37}, 37 * sizeof(float)); });
  REQUIRE(has(text, "AddressSanitizer: heap-buffer-overflow"));
  REQUIRE(has(text, "thread (31,0,0)"));
  text = death([](Params p) { launch<&stack_overrun_kernel>(1, 32, Params{p.data, 4}); });
  REQUIRE(has(text, "AddressSanitizer: stack-buffer-overflow"));
  text = death([](Params p) {
    cudaFree(p.data);
    launch<&global_overrun_kernel>(1, 32, p);
  });
  REQUIRE(has(text, "AddressSanitizer: heap-use-after-free"));
  text = death([](Params p) { *static_cast<volatile float *>(p.data) = 0; });
  REQUIRE(has(text, "AddressSanitizer: use-after-poison"));
  text = death([](Params p) { launch<&early_kernel<1>>(1, 32, p); });
  REQUIRE(has(text, "AddressSanitizer: use-after-poison"));
  REQUIRE(death([](Params p) { launch<&early_kernel<0>>(1, 32, p); }) == "");
  REQUIRE(death([](Params p) { launch<&reverse_kernel<true>>(1, 32, p); }) == "");
}
#endif

#ifdef TEST_UBSAN
TEST_CASE("a misaligned vector access by a plain dereference is reported by UBSan") {
  const auto death = [](int n) {
    return death_of([n] {
      DeviceArray<float> data(16);
      launch<&misaligned_plain_kernel>(1, 1, Params{data.data(), n});
    });
  };
  REQUIRE(has(death(1), "misaligned address"));
  REQUIRE(death(4) == "");
}
#endif
