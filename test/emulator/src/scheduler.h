// What a launch consists of while it runs, shared by the scheduler (who runs next) and the rendezvous (who waits for
// whom).
#pragma once

#include "emulator/emulator.h"
#include "fiber.h"

#include <memory>
#include <mutex>
#include <vector>

namespace emu {

struct Random {  // splitmix64
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  unsigned below(std::size_t n) { return unsigned(((next() >> 32) * std::uint64_t(n)) >> 32); }
};

enum class State : std::uint8_t { ready, yielded, at_barrier, at_warp, done };

struct Block;

struct Thread {
  Fiber fiber;
  Block *block = nullptr;
  uint3 index{};
  unsigned linear = 0;
  State state = State::ready;
  // While it waits at a warp operation:
  const char *what = nullptr;
  Site site{};
  unsigned mask = 0;
  void *io = nullptr;
  Combine combine = nullptr;
  // The cluster's phase that it waits for, once it has arrived:
  std::uint64_t awaits = 0;
};

struct Warp {
  unsigned live = 0, at_warp = 0, at_barrier = 0;  // lanes
  bool together = true;                            // those at_warp wait at one operation
};

struct SharedArray {
  const void *declaration;
  const char *name;
  void *memory;
  std::size_t bytes;
};

struct Cluster {
  std::vector<Block *> blocks;  // null: it has ended
  std::size_t threads = 0, arrived = 0;
  std::uint64_t phase = 0;
};

struct Block {
  uint3 index{};
  std::shared_ptr<Cluster> cluster;
  unsigned rank = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<Thread *> ready, yielded;
  unsigned live = 0;
  // The block barrier that some threads wait at:
  unsigned arrived = 0;
  BarrierKind kind{};
  Site site{};
  int votes = 0, result = 0;
  std::vector<SharedArray> shared;
  std::size_t static_bytes = 0;
  void *dynamic = nullptr;

  ~Block();
};

enum class Turn { unasked, early, come };
struct Launch {
  const KernelEntry *kernel = nullptr;
  dim3 grid, block;
  unsigned cluster = 1;
  std::size_t dynamic_bytes = 0;
  void **args = nullptr;
  std::uint64_t seed = 0, number = 0;
  Random random{};
  unsigned char poison = 0xff;  // what unwritten shared memory holds
  std::uint64_t total = 0, started = 0;  // clusters
  std::vector<std::uint32_t> order;
  std::vector<std::unique_ptr<Block>> resident;
  std::uint64_t spins = 0, preemptions = 0;  // since a thread last passed a barrier or ended
  Turn turn = Turn::unasked;
  std::string error;
};

extern thread_local Thread *current;  // null outside a kernel
extern Launch *launch;
std::string describe(const KernelEntry &kernel);

// For the runtime API. One lock for launches and memory operations: the emulated device does one thing at a time.
std::recursive_mutex &device_lock();
// Empty when all went well, else what went wrong. Sizes have been checked.
std::string run(const KernelEntry &kernel, dim3 grid, dim3 block, unsigned cluster, std::size_t dynamic_bytes, void **args);
void open_device_memory(bool open);
void set_last_error(const std::string &text);

}  // namespace emu
