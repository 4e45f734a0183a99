// Who runs next: blocks are started in a random order, a few resident at a time; a random resident block gets a burst
// of turns; a random ready thread of it runs to its next switching point.
#include "scheduler.h"
#include "sanitizer.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emu {

thread_local Thread *current = nullptr;
Launch *launch = nullptr;

namespace {

struct Settings {
  std::uint64_t seed = 1, launches = 0;
  unsigned resident = 0, spin_limit = 10000;
  Settings() {
    if (const char *text = std::getenv("TCU_EMULATOR_SEED")) seed = std::strtoull(text, nullptr, 0);
  }
};
Settings &settings() {
  static Settings instance;
  return instance;
}

thread_local std::string error_text;

constexpr std::uint64_t preemption_limit = 50'000'000;  // a spin loop without __nanosleep, kept alive by its atomics
constexpr std::size_t max_resident_threads = 4096;

std::string place() {
  char text[160];
  std::snprintf(text, sizeof text, " block (%u,%u,%u) thread (%u,%u,%u)", current->block->index.x,
                current->block->index.y, current->block->index.z, current->index.x, current->index.y, current->index.z);
  return describe(*launch->kernel) + text;
}

void record(const char *text) {
  if (!launch->error.empty()) return;
  launch->error = (current ? place() : describe(*launch->kernel)) + ": " + text + " [TCU_EMULATOR_SEED=" +
                  std::to_string(launch->seed) + ", launch " + std::to_string(launch->number) + "]";
}

// Adds to a sanitizer's report where in the grid it happened.
[[maybe_unused]] void on_sanitizer_report(const char *) {
  if (current)
    std::fprintf(stderr, "emulator: %s [TCU_EMULATOR_SEED=%llu, launch %llu]\n", place().c_str(),
                 static_cast<unsigned long long>(launch->seed), static_cast<unsigned long long>(launch->number));
}

void thread_ended() {
  Thread &t = *current;
  Block &block = *t.block;
  Warp &warp = block.warps[t.linear / 32];
  const unsigned bit = 1u << (t.linear % 32);
  if (block.arrived)
    fail("barrier divergence: the thread ends while %u of %zu threads wait at the block barrier of %s:%d",
         block.arrived, block.threads.size(), block.site.file, block.site.line);
  for (unsigned lanes = warp.at_warp; lanes; lanes &= lanes - 1) {
    const unsigned lane = unsigned(__builtin_ctz(lanes));
    const Thread &other = block.threads[t.linear / 32 * 32 + lane];
    if (other.mask & bit)
      fail("the thread ends while lane %u waits for it at %s of %s:%d, mask %#x", lane, other.what, other.site.file,
           other.site.line, other.mask);
  }
  warp.live &= ~bit;
  --block.live;
  launch->spins = launch->preemptions = 0;
}

void run_kernel() {
  try {
    launch->kernel->call(launch->args);
    thread_ended();
  } catch (const std::exception &e) {
    record(e.what());
  } catch (...) {
    record("the kernel threw an exception");
  }
}

void thread_entry() {
  run_kernel();
  current->state = State::done;
  suspend(current->fiber, true);
}

void start_block(const std::shared_ptr<Cluster> &cluster, std::uint32_t number) {
  auto block = std::make_unique<Block>();
  block->cluster = cluster;
  block->rank = unsigned(cluster->blocks.size());
  cluster->blocks.push_back(block.get());
  block->index = {number % launch->grid.x, number / launch->grid.x % launch->grid.y,
                  number / launch->grid.x / launch->grid.y};
  const dim3 d = launch->block;
  const unsigned count = d.x * d.y * d.z;
  block->threads.resize(count);
  cluster->threads += count;
  block->warps.resize((count + 31) / 32);
  block->live = count;
  for (unsigned i = 0; i < count; ++i) {
    Thread &t = block->threads[i];
    t.fiber = make_fiber(&thread_entry);
    t.block = block.get();
    t.index = {i % d.x, i / d.x % d.y, i / d.x / d.y};
    t.linear = i;
    block->warps[i / 32].live |= 1u << (i % 32);
    block->ready.push_back(&t);
  }
  void *memory = nullptr;
  if (posix_memalign(&memory, 16, launch->dynamic_bytes) == 0 && memory)
    std::memset(memory, launch->poison, launch->dynamic_bytes);
  block->dynamic = memory;
  launch->resident.push_back(std::move(block));
  launch->spins = launch->preemptions = 0;
}
void start_cluster() {
  const auto cluster = std::make_shared<Cluster>();
  const std::uint32_t number = launch->order[launch->started++];
  for (unsigned rank = 0; rank < launch->cluster; ++rank) start_block(cluster, number * launch->cluster + rank);
}

std::string waiting_summary() {
  std::string text;
  for (const auto &block : launch->resident) {
    unsigned counts[5] = {};
    for (const Thread &t : block->threads) ++counts[int(t.state)];
    char line[200];
    std::snprintf(line, sizeof line, "; block (%u,%u,%u): %u spin, %u at a block barrier, %u at a warp operation",
                  block->index.x, block->index.y, block->index.z, counts[int(State::yielded)] + counts[int(State::ready)],
                  counts[int(State::at_barrier)], counts[int(State::at_warp)]);
    text += line;
  }
  return text + "; " + std::to_string((launch->total - launch->started) * launch->cluster) + " blocks not started";
}

// One turn of one thread. False when the block has nobody to run.
bool take_turn(Block &block) {
  if (block.ready.empty()) block.ready.swap(block.yielded);
  if (block.ready.empty()) return false;
  std::swap(block.ready[launch->random.below(block.ready.size())], block.ready.back());
  Thread &t = *block.ready.back();
  block.ready.pop_back();
  t.state = State::ready;
  current = &t;
  threadIdx = t.index;
  blockIdx = block.index;
  resume(t.fiber);
  current = nullptr;
  if (t.state == State::done) recycle_fiber(t.fiber, launch->error.empty());
  return true;
}

void run_blocks() {
  Random &random = launch->random;
  const unsigned threads = launch->block.x * launch->block.y * launch->block.z;
  std::size_t most = settings().resident ? settings().resident : 2 + random.below(3);
  most = std::max<std::size_t>(1, std::min(most, max_resident_threads / threads));
  while (launch->error.empty()) {
    while (launch->started < launch->total && launch->resident.size() < most) start_cluster();
    if (launch->resident.empty()) return;
    const std::size_t which = random.below(launch->resident.size());
    Block &block = *launch->resident[which];
    for (unsigned turns = 1 + random.below(2 * threads); turns && block.live && launch->error.empty(); --turns)
      if (!take_turn(block)) {
        record(("deadlock: no thread of the block can run" + waiting_summary()).c_str());
        return;
      }
    if (launch->spins > std::uint64_t(settings().spin_limit) * threads * launch->resident.size() ||
        launch->preemptions > preemption_limit)
      record(("deadlock: the resident blocks spin without progress" + waiting_summary()).c_str());
    if (!block.live) {
      std::swap(launch->resident[which], launch->resident.back());
      launch->resident.pop_back();
    }
  }
}

}  // namespace

Block::~Block() {
  cluster->blocks[rank] = nullptr;
  for (Thread &t : threads) recycle_fiber(t.fiber, false);  // abandoned ones, after an error
  for (SharedArray &array : shared) std::free(array.memory);
  std::free(dynamic);
}

std::string describe(const KernelEntry &kernel) {
  std::string_view name = kernel.name;
  if (auto at = name.find("Kernel = "); at != name.npos) name.remove_prefix(at + 9);
  name = name.substr(0, name.find("; <template-parameter"));
  if (auto at = name.rfind(']'); at != name.npos && at + 1 == name.size()) name.remove_suffix(1);
  return "kernel " + std::string(name);
}

void set_seed(std::uint64_t seed) {
  std::lock_guard lock(device_lock());
  settings().seed = seed;
  settings().launches = 0;
}
void set_resident_blocks(unsigned count) { settings().resident = count; }
void set_spin_limit(unsigned per_thread) { settings().spin_limit = per_thread; }
std::uint64_t launch_count() { return settings().launches; }
const char *last_error() { return error_text.c_str(); }
void set_last_error(const std::string &text) { error_text = text; }

std::recursive_mutex &device_lock() {
  static std::recursive_mutex instance;
  return instance;
}

std::string run(const KernelEntry &kernel, dim3 grid, dim3 block, unsigned cluster, std::size_t dynamic_bytes, void **args) {
  std::lock_guard lock(device_lock());
  if (current) return describe(kernel) + ": launched from inside a kernel";
  Launch state;
  state.kernel = &kernel;
  state.grid = grid;
  state.block = block;
  state.cluster = cluster;
  state.dynamic_bytes = dynamic_bytes;
  state.args = args;
  state.seed = settings().seed;
  state.number = ++settings().launches;
  state.random.state = state.seed * 0xd1342543de82ef95u + state.number;
  state.poison = state.random.next() & 1 ? 0xff : 0x7f;  // NaN, or a large number in most types
  state.total = std::uint64_t(grid.x) * grid.y * grid.z / cluster;
  if (state.total > (1u << 24) / cluster) return describe(kernel) + ": more than 2^24 blocks is too much for the emulator";
  state.order.resize(std::size_t(state.total));
  for (std::uint32_t i = 0; i < state.total; ++i) state.order[i] = i;
  for (std::uint32_t i = 1; i < state.total; ++i) std::swap(state.order[i], state.order[state.random.below(i + 1)]);
#ifdef EMU_ASAN
  __asan_set_error_report_callback(&on_sanitizer_report);
#endif
  launch = &state;
  blockDim = block;
  gridDim = grid;
  open_device_memory(true);
  run_blocks();
  state.resident.clear();
  if (state.turn == Turn::early) {
    if (state.error.empty()) state.error = describe(kernel) + ": it began early, and did not wait for its turn";
  } else {
    open_device_memory(false);
  }
  launch = nullptr;
  return state.error;
}

void fail(const char *format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  if (!current) {
    std::fprintf(stderr, "emulator: outside a kernel: %s\n", text);
    std::abort();
  }
  record(text);
  current->state = State::done;
  suspend(current->fiber, true);  // for ever: the launch is over
  __builtin_unreachable();
}

void yield() {
  if (!current) return;
  ++launch->spins;
  current->state = State::yielded;
  current->block->yielded.push_back(current);
  suspend(current->fiber, false);
}

void preempt() {
  if (!current || launch->random.below(8)) return;
  ++launch->preemptions;
  current->block->ready.push_back(current);
  suspend(current->fiber, false);
}

void begin_early() {
  if (!current || launch->turn != Turn::unasked) return;
  launch->turn = Turn::early;
  open_device_memory(false);
}
void await_turn() {
  if (!current || launch->turn == Turn::come) return;
  if (launch->turn == Turn::early) open_device_memory(true);
  launch->turn = Turn::come;
}

unsigned lane() {
  if (!current) fail("a warp operation");
  return current->linear % 32;
}

}  // namespace emu
