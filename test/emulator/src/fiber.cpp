// Fibers over a pool of guarded stacks. On x86-64 a switch is a few pushes and pops (swapcontext costs two system
// calls); elsewhere it is ucontext. ASan is told of every switch, so that it knows which stack it is on.
#include "fiber.h"
#include "sanitizer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#if defined(__x86_64__) && !defined(TCU_EMULATOR_UCONTEXT)
// void emu_switch(void **save, void *load): callee-saved registers go to the old stack, its pointer to *save.
extern "C" void emu_switch(void **save, void *load);
asm(R"(
.text
.hidden emu_switch
.globl emu_switch
.type emu_switch, @function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emu_switch, .-emu_switch
)");
#else
#define EMU_UCONTEXT 1
#include <ucontext.h>
#endif

namespace emu {
namespace {

constexpr std::size_t stack_bytes = 256 << 10;  // address space; only touched pages cost memory

struct Scheduler {
  void *context = nullptr;
  const void *stack = nullptr;
  std::size_t stack_bytes = 0;
  void *fake_stack = nullptr;
#ifdef EMU_UCONTEXT
  ucontext_t ucontext;
#endif
};
thread_local Scheduler scheduler;

struct StackPool {
  std::vector<char *> free;

  char *take() {
    if (!free.empty()) {
      char *stack = free.back();
      free.pop_back();
      return stack;
    }
    const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
    void *map = mmap(nullptr, stack_bytes + page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED || mprotect(map, page, PROT_NONE) != 0) {
      std::fputs("emulator: no memory for fiber stacks\n", stderr);
      std::abort();
    }
    return static_cast<char *>(map) + page;
  }
};

StackPool &pool() {
  static StackPool instance;  // used under the launch lock
  return instance;
}

void enter_switch([[maybe_unused]] void **fake, [[maybe_unused]] const void *stack, [[maybe_unused]] std::size_t bytes) {
#ifdef EMU_ASAN
  __sanitizer_start_switch_fiber(fake, stack, bytes);
#endif
}

void leave_switch([[maybe_unused]] void *fake, [[maybe_unused]] const void **stack, [[maybe_unused]] std::size_t *bytes) {
#ifdef EMU_ASAN
  __sanitizer_finish_switch_fiber(fake, stack, bytes);
#endif
}

thread_local void (*entry_point)();

// Never returns, so ASan must not instrument it: nobody would clear its frame's poison.
__attribute__((no_sanitize("address", "undefined"), noinline)) void fiber_main() {
  leave_switch(nullptr, &scheduler.stack, &scheduler.stack_bytes);
  entry_point();
  __builtin_trap();
}

}  // namespace

Fiber make_fiber(void (*entry)()) {
  Fiber fiber;
  entry_point = entry;  // the same for all fibers
  fiber.stack = pool().take();
#ifdef EMU_UCONTEXT
  auto *context = new ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = fiber.stack;
  context->uc_stack.ss_size = stack_bytes;
  context->uc_link = nullptr;
  makecontext(context, &fiber_main, 0);
  fiber.context = context;
#else
  // Six registers, the address to return to, and a null return address that ends stack traces; after the pops and the
  // ret the stack pointer is 8 below a multiple of 16, as at any function's entry.
  auto *top = reinterpret_cast<std::uintptr_t *>(fiber.stack + stack_bytes) - 8;
  for (int i = 0; i < 8; ++i) top[i] = 0;
  top[6] = reinterpret_cast<std::uintptr_t>(&fiber_main);
  fiber.context = top;
#endif
  return fiber;
}

void recycle_fiber(Fiber &fiber, [[maybe_unused]] bool returned) {
  if (!fiber.stack) return;
  // ASan's marks on a frame go when its function returns: then only those of the last few are left.
  [[maybe_unused]] const std::size_t marked = returned ? 4096 : stack_bytes;
  ASAN_UNPOISON_MEMORY_REGION(fiber.stack + stack_bytes - marked, marked);
#ifdef EMU_UCONTEXT
  delete static_cast<ucontext_t *>(fiber.context);
#endif
  pool().free.push_back(fiber.stack);
  fiber = Fiber();
}

void resume(Fiber &fiber) {
  enter_switch(&scheduler.fake_stack, fiber.stack, stack_bytes);
#ifdef EMU_UCONTEXT
  swapcontext(&scheduler.ucontext, static_cast<ucontext_t *>(fiber.context));
#else
  emu_switch(&scheduler.context, fiber.context);
#endif
  leave_switch(scheduler.fake_stack, nullptr, nullptr);
}

void suspend(Fiber &fiber, bool last) {
  enter_switch(last ? nullptr : &fiber.fake_stack, scheduler.stack, scheduler.stack_bytes);
#ifdef EMU_UCONTEXT
  swapcontext(static_cast<ucontext_t *>(fiber.context), &scheduler.ucontext);
#else
  emu_switch(&fiber.context, scheduler.context);
#endif
  leave_switch(fiber.fake_stack, &scheduler.stack, &scheduler.stack_bytes);
}

}  // namespace emu
