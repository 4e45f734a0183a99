// The SIMD targets that the CPU backend is compiled for: the compiler's baseline, AVX2 with FMA, AVX-512 (on other
// architectures all that Highway knows). More would cost build time for little: each is one more copy of every loop.
#pragma once
#ifndef HWY_DISABLED_TARGETS
#if defined(__x86_64__)
#include "hwy/detect_compiler_arch.h"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#endif
#endif
