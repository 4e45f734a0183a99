// What the two halves of the runtime API share: the thread's last error.
#pragma once

#include "emulator/runtime_api.h"

namespace emu {

cudaError_t status(cudaError_t error);  // remembers a failure for cudaGetLastError, returns it

constexpr std::size_t device_memory = std::size_t(4) << 30;
constexpr std::size_t max_shared_per_block = 48 << 10, max_shared_optin = 227 << 10, shared_per_sm = 228 << 10;
constexpr int sm_count = 4, threads_per_sm = 2048, blocks_per_sm = 32;

}  // namespace emu
