// Functions compiled at run time: from memory (a shared lock and a hash), else from disk, else by the compiler.
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "core/error.h"
#include "cuda/compiler.h"
#include "cuda/cuda_error.h"
#include "cuda/disk_cache.h"
#include "cuda/function.h"

namespace tcu::cuda {

namespace {

// One function on one device. Whoever asks while it is being made waits for its mutex.
struct Slot {
  std::mutex making;
  const void *handle = nullptr;  // set once, under `making` and the table's lock
};

// Never emptied: plans hold the handles, and expressions differ by structure, not by constants. Never destroyed: threads
// may outlive static objects.
struct Table {
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<Slot>> slots;
};
Table &table() {
  static Table &t = *new Table;
  return t;
}

DiskCache &disk() {
  static DiskCache &cache = *new DiskCache(standard_cache_folder(), DiskCache::kStandardCapacity);
  return cache;
}

// Null if the runtime does not take the code.
const void *load(const std::string &code) {
  const RelaxedCapture relaxed;
  const std::string image = loadable(code);
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  const bool loaded = cudaLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) == cudaSuccess;
  if (loaded && cudaLibraryGetKernel(&kernel, library, "kernel") == cudaSuccess)
    return reinterpret_cast<const void *>(kernel);  // the library stays loaded for the life of the process
  cudaGetLastError();
  if (loaded) cudaLibraryUnload(library);
  return nullptr;
}

const void *make(const Instance &f, int ordinal) {
  const OnDevice guard(ordinal);
  Target target;
  check(cudaDeviceGetAttribute(&target.major, cudaDevAttrComputeCapabilityMajor, ordinal), "asking for the device");
  check(cudaDeviceGetAttribute(&target.minor, cudaDevAttrComputeCapabilityMinor, ordinal), "asking for the device");
  const std::string source = source_of(f);
  std::string key = code_key(target) + source;
  const auto from_disk = [&]() -> const void * {
    const auto code = disk().load(key);
    return code ? load(*code) : nullptr;
  };
  if (const void *handle = from_disk()) return handle;
  if (const std::string more = substitute_key(target); !more.empty()) {
    key = more + key;
    if (const void *handle = from_disk()) return handle;
  }
  const std::string code = compile_source(source, target);
  const void *handle = load(code);
  if (!handle) fail(Code::cuda, "cuda: the driver does not take the code that NVRTC made: update the driver");
  disk().store(key, code);
  return handle;
}

}  // namespace

const void *compile(const Instance &f, int ordinal) {
  const std::string name = name_of(f) + "@" + std::to_string(ordinal);
  Table &t = table();
  {
    std::shared_lock lock(t.mutex);
    if (const auto at = t.slots.find(name); at != t.slots.end() && at->second->handle) return at->second->handle;
  }
  std::shared_ptr<Slot> slot;
  {
    std::unique_lock lock(t.mutex);
    std::shared_ptr<Slot> &at = t.slots[name];
    if (!at) at = std::make_shared<Slot>();
    slot = at;
  }
  std::lock_guard making(slot->making);
  if (slot->handle) return slot->handle;
  const void *handle = make(f, ordinal);
  std::unique_lock lock(t.mutex);
  return slot->handle = handle;
}

}  // namespace tcu::cuda
