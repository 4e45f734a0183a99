// NVRTC, opened when a function is asked for that is not in the disk cache. Needs no CUDA header and no GPU.
#pragma once
#include <string>

namespace tcu::cuda {

// False where libnvrtc cannot be found.
bool nvrtc_available();
std::string nvrtc_version();  // "13.0"
// Machine code ("sm_90") or PTX ("compute_90") of source, which may include any of the embedded headers.
std::string nvrtc_compile(const std::string &source, const std::string &architecture);
// The architecture to compile for: the device's own, or where this NVRTC does not know it, the PTX of the nearest below.
std::string nvrtc_architecture(int major, int minor);

}  // namespace tcu::cuda
