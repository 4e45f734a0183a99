#include "cuda/function.h"

#include <map>
#include <mutex>
#include <tuple>

#include "cuda/cuda_error.h"

namespace tcu::cuda {

Function resolve(const Instance &f, int ordinal) {
  const OnDevice guard(ordinal);
  Function resolved;
  resolved.ordinal = ordinal;
  resolved.handle = shipped(name_of(f));
  if (!resolved.handle) {
    resolved.handle = compile(f, ordinal);
    resolved.compiled = true;
  }
  const RelaxedCapture relaxed;  // the runtime may load the function's code now
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, resolved.handle), "loading a kernel");
  resolved.max_threads = attributes.maxThreadsPerBlock;
  return resolved;
}

int Function::blocks_per_processor(int block, int shared_bytes) const {
  using Key = std::tuple<const void *, int, int, int>;
  static std::mutex mutex;
  static auto &known = *new std::map<Key, int>;  // outlives every thread that may ask
  const Key key{handle, ordinal, block, shared_bytes};
  {
    std::lock_guard lock(mutex);
    if (const auto at = known.find(key); at != known.end()) return at->second;
  }
  const OnDevice guard(ordinal);
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, handle, block, size_t(shared_bytes)),
        "asking for a kernel's occupancy");
  std::lock_guard lock(mutex);
  return known.emplace(key, blocks).first->second;
}

}  // namespace tcu::cuda
