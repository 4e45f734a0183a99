// A fiber: a stack and a place to continue. Only two moves exist: the scheduler resumes a fiber, a fiber suspends to
// the scheduler.
#pragma once

#include <cstddef>

namespace emu {

struct Fiber {
  void *context = nullptr;  // saved stack pointer, or ucontext_t
  char *stack = nullptr;
  void *fake_stack = nullptr;  // ASan's, while the fiber is suspended
};

Fiber make_fiber(void (*entry)());  // entry never returns: it ends by suspend(fiber, true)
// Its stack goes back to the pool. returned: the functions that it called have returned; else it is abandoned where it stands.
void recycle_fiber(Fiber &fiber, bool returned);
void resume(Fiber &fiber);
void suspend(Fiber &fiber, bool last);

}  // namespace emu
