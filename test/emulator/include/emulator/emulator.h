// The emulator's own interface: one fiber per CUDA thread, block and warp rendezvous, shared memory, errors, seeds.
//
// Blocks run in a seeded random order with 2 to 4 of them resident at a time; a resident block's fibers run one after
// another in random order, each up to its next switching point (barrier, warp operation, __nanosleep, and now and then
// an atomic or a fence). So a missing barrier, or a dependency on the order of blocks, changes the result or
// deadlocks for some seed. Every seed gives one exact schedule: (seed, number of the launch since set_seed).
#pragma once

#include "language.h"

#include <type_traits>
#include <utility>

namespace emu {

void set_seed(std::uint64_t seed);         // restarts the launch count; initially $TCU_EMULATOR_SEED, else 1
void set_resident_blocks(unsigned count);  // 0 (the default): seeded, 2 to 4
void set_spin_limit(unsigned per_thread);  // yields per resident thread without progress before 'deadlock'
void guard_device_memory(bool on);         // under ASan, host code that dereferences a device pointer dies (default on)
void occupy_device_memory(std::ptrdiff_t bytes);  // as if another process had so many more, or fewer
std::uint64_t launch_count();              // since set_seed
const char *last_error();                  // of the last launch that failed, until the next one: kernel, block, thread and seed

// What device code reaches. Outside a kernel yield and preempt do nothing and the others abort with a message.
void yield();    // let others run: every spin loop must come here (__nanosleep does)
void preempt();  // a place where a thread may lose its turn
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
unsigned lane();
// Device memory is closed to a launch from its first begin_early(), by whatever thread, to its first await_turn(): who comes to either later has
// nothing to wait for. A launch that begins early and awaits nothing fails.
void begin_early();
void await_turn();

// What a load or store by that type is given: the device faults at an address that is no multiple of its size.
template <class T>
T *aligned(T *p) {
  if (reinterpret_cast<std::uintptr_t>(p) % alignof(T) != 0)
    fail("misaligned access: %p, of %zu bytes", static_cast<const volatile void *>(p), sizeof(T));
  return p;
}

struct Site {
  const char *file;
  int line;
};

enum class BarrierKind { sync, any, all, count };
int block_barrier(BarrierKind kind, int predicate, Site site);

// Waits until every lane of mask has come with the same operation; the last one to come calls
// combine(io of each lane, mask) for all of them.
using Combine = void (*)(void *const io[32], unsigned mask);
void warp_collective(const char *what, unsigned mask, void *io, Combine combine, Site site);

void *shared_array(const void *declaration, const char *name, std::size_t bytes);
void *dynamic_shared_memory();

// Of a launch in clusters: the barrier of all blocks of the calling thread's, in two halves; and where `at`, of the block's own shared
// arrays, is in block `rank` of the cluster.
void cluster_arrive();
void cluster_wait();
void *shared_of(unsigned rank, const void *at);

template <class T>
T *shared(const void *declaration, const char *name, std::size_t count) {
  static_assert(alignof(T) <= 16, "TCU_SHARED guarantees an alignment of 16 bytes");
  return static_cast<T *>(shared_array(declaration, name, count * sizeof(T)));
}

template <class T>
T *dynamic_shared() {
  static_assert(alignof(T) <= 16, "TCU_DYNAMIC_SHARED guarantees an alignment of 16 bytes");
  return static_cast<T *>(dynamic_shared_memory());
}

// A kernel as cudaLaunchKernel takes it: the signature is forgotten, the trampoline remembers it.
struct KernelEntry {
  std::uint64_t magic;
  const char *name;  // text that ends in 'Kernel = <name>...]'
  void (*call)(void **args);
};
constexpr std::uint64_t kernel_magic = 0x54435545'4b524e4cu;

template <auto Kernel>
struct Trampoline;

template <class... P, void (*Kernel)(P...)>
struct Trampoline<Kernel> {
  static_assert((std::is_trivially_copyable_v<P> && ...), "kernel parameters are copied as bytes");
  static void call(void **args) { spread(args, std::index_sequence_for<P...>()); }
  static constexpr const char *name() { return __PRETTY_FUNCTION__; }

 private:
  template <std::size_t... i>
  static void spread([[maybe_unused]] void **args, std::index_sequence<i...>) {
    Kernel(*static_cast<const P *>(args[i])...);
  }
};

template <auto Kernel>
constexpr KernelEntry entry_of() {
  return {kernel_magic, Trampoline<Kernel>::name(), &Trampoline<Kernel>::call};
}

}  // namespace emu

namespace tcu::cuda {

template <auto Kernel>
const void *kernel_address() {
  static const emu::KernelEntry entry = emu::entry_of<Kernel>();
  return &entry;
}

}  // namespace tcu::cuda

#define TCU_SHARED(type, name, count)     \
  static char tcu_declaration_of_##name; \
  type *const name = ::emu::shared<type>(&tcu_declaration_of_##name, #name, (count))

#define TCU_SHARED_LINES(type, name, count) TCU_SHARED(type, name, count)
#define TCU_DYNAMIC_SHARED(type, name) type *const name = ::emu::dynamic_shared<type>()

// Makes an extern "C" kernel of a shared object findable by cudaLibraryGetKernel(…, "kernel").
#define TCU_EXPORT_KERNEL(kernel)                                                                             \
  extern "C" __attribute__((visibility("default"))) const ::emu::KernelEntry tcu_entry_##kernel;              \
  const ::emu::KernelEntry tcu_entry_##kernel = ::emu::entry_of<&kernel>()
