// ASan's interface, or nothing. EMU_ASAN: what the emulator runs is compiled with it (the build says so).
#pragma once

#ifdef EMU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
// The header's own do nothing in a file that is not instrumented.
#undef ASAN_POISON_MEMORY_REGION
#undef ASAN_UNPOISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(address, size) __asan_poison_memory_region(address, size)
#define ASAN_UNPOISON_MEMORY_REGION(address, size) __asan_unpoison_memory_region(address, size)
#else
#define ASAN_POISON_MEMORY_REGION(address, size) (void(address), void(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) (void(address), void(size))
#endif
