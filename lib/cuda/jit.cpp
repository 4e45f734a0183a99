// Functions compiled at run time: from memory (a shared lock and a hash), else from disk, else by the compiler, which those wait for who ask
// compile(), and works in a thread of its own (beside.h) for those who ask compile_beside().
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "core/error.h"
#include "cuda/beside.h"
#include "cuda/compiler.h"
#include "cuda/cuda_error.h"
#include "cuda/disk_cache.h"
#include "cuda/function.h"

namespace tcu::cuda {

namespace {

// One function on one device.
struct Slot {
  std::mutex making;                            // whoever asks while it is being made waits for it
  std::atomic<const void *> handle = nullptr;   // set once, under `making`
  std::atomic<bool> begun = false;              // beside those who asked
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

Target target_of(int ordinal) {
  Target target;
  check(cudaDeviceGetAttribute(&target.major, cudaDevAttrComputeCapabilityMajor, ordinal), "asking for the device");
  check(cudaDeviceGetAttribute(&target.minor, cudaDevAttrComputeCapabilityMinor, ordinal), "asking for the device");
  return target;
}
const void *from_disk(const std::string &key) {
  const auto code = disk().load(key);
  return code ? load(*code) : nullptr;
}
const void *make(const Instance &f, int ordinal) {
  const OnDevice guard(ordinal);
  const Target target = target_of(ordinal);
  const std::string source = source_of(f);
  std::string key = code_key(target) + source;
  if (const void *handle = from_disk(key)) return handle;
  if (const std::string more = substitute_key(target); !more.empty()) {
    key = more + key;
    if (const void *handle = from_disk(key)) return handle;
  }
  const std::string code = compile_source(source, target);
  const void *handle = load(code);
  if (!handle) fail(Code::cuda, "cuda: the driver does not take the code that NVRTC made: update the driver");
  disk().store(key, code);
  return handle;
}

std::shared_ptr<Slot> slot_of(const Instance &f, int ordinal) {
  const std::string name = name_of(f) + "@" + std::to_string(ordinal);
  Table &t = table();
  {
    std::shared_lock lock(t.mutex);
    if (const auto at = t.slots.find(name); at != t.slots.end()) return at->second;
  }
  std::unique_lock lock(t.mutex);
  std::shared_ptr<Slot> &at = t.slots[name];
  if (!at) at = std::make_shared<Slot>();
  return at;
}
const void *made_by_now(Slot &slot, const Instance &f, int ordinal) {
  const std::lock_guard making(slot.making);
  if (!slot.handle) slot.handle = make(f, ordinal);
  return slot.handle;
}

}  // namespace

const void *compile(const Instance &f, int ordinal) {
  const auto slot = slot_of(f, ordinal);
  return slot->handle ? slot->handle.load() : made_by_now(*slot, f, ordinal);
}

const void *compile_beside(const Instance &f, int ordinal) {
  const auto slot = slot_of(f, ordinal);
  if (slot->handle || slot->begun.exchange(true)) return slot->handle;
  {
    const OnDevice guard(ordinal);
    const std::unique_lock making(slot->making, std::try_to_lock);
    if (making && !slot->handle) slot->handle = from_disk(code_key(target_of(ordinal)) + source_of(f));
  }
  const auto compiles = [&] { return do_beside(open_compiler) && do_beside([slot, f, ordinal] { made_by_now(*slot, f, ordinal); }); };
  if (!slot->handle && !compiles()) return compile(f, ordinal);
  return slot->handle;
}

}  // namespace tcu::cuda
