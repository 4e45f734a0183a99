// The CUDA runtime's header as the emulator has it: with `-I test/emulator/include -DTCU_EMULATOR=1` in place of the
// toolkit's include directory, host files and kernels of lib/cuda compile unchanged with g++ and run on the host, one
// fiber per thread. What kernels must use so that this works:
//   TCU_SHARED(type, name, count)      static shared memory; never __shared__
//   TCU_DYNAMIC_SHARED(type, name)     dynamic shared memory of the launch
//   __nanosleep(n)                     in every spin loop: it lets other fibers run
//   tcu::cuda::kernel_address<&k>()    what cudaLaunchKernel takes
//   TCU_EXPORT_KERNEL(k)               after an extern "C" kernel that cudaLibraryGetKernel is to find
#pragma once

#include "emulator/language.h"

#include "emulator/emulator.h"

#include "emulator/atomics.h"
#include "emulator/intrinsics.h"
#include "emulator/mma.h"
#include "emulator/runtime_api.h"
#include "emulator/warp.h"
