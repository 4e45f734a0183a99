// Stands in for lib/cuda in a build without CUDA: there are no devices.
#include "core/error.h"
#include "plan/backend.h"

namespace tcu {

int cuda_device_count() { return 0; }
Device cuda_device(int) { fail(Code::device, "this libtcuops was built without CUDA"); }
std::unique_ptr<Backend> make_cuda_backend(int) { fail(Code::device, "this libtcuops was built without CUDA"); }

}  // namespace tcu
