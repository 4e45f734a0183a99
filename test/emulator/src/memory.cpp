// Device memory: one exact malloc per buffer, so that ASan guards both ends, and a registry of them.
// Outside kernels and copies the buffers are poisoned: the host reading a device pointer, which would crash on a
// machine with a GPU, must not pass here.
#include "runtime.h"
#include "sanitizer.h"
#include "scheduler.h"

#include <cstdlib>
#include <cstring>
#include <map>

namespace emu {
namespace {

struct Buffer {
  std::size_t bytes;
  cudaMemoryType type;
};

struct Memory {
  std::map<std::uintptr_t, Buffer> buffers;
  std::size_t used = 0;
  bool guard = true;
  int open = 0;
};

Memory &memory() {
  static Memory *instance = new Memory;  // outlives static objects that free device memory
  return *instance;
}

std::uintptr_t number(const void *p) { return reinterpret_cast<std::uintptr_t>(p); }

// The buffer that holds [p, p + bytes), or null.
const std::pair<const std::uintptr_t, Buffer> *find(const void *p, std::size_t bytes) {
  auto &buffers = memory().buffers;
  auto next = buffers.upper_bound(number(p));
  if (next == buffers.begin()) return nullptr;
  auto &buffer = *std::prev(next);
  const std::size_t offset = number(p) - buffer.first;
  return offset <= buffer.second.bytes && bytes <= buffer.second.bytes - offset ? &buffer : nullptr;
}

void shield(bool on) {
  for (const auto &[address, buffer] : memory().buffers) {
    if (buffer.type != cudaMemoryTypeDevice) continue;
    if (on)
      ASAN_POISON_MEMORY_REGION(reinterpret_cast<void *>(address), buffer.bytes);
    else
      ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<void *>(address), buffer.bytes);
  }
}

cudaError_t allocate(void **ptr, std::size_t bytes, cudaMemoryType type) {
  std::lock_guard lock(device_lock());
  if (!ptr) return status(cudaErrorInvalidValue);
  *ptr = nullptr;
  if (bytes == 0) return cudaSuccess;
  const bool on_device = type != cudaMemoryTypeHost;
  if (on_device && (bytes > device_memory || memory().used + bytes > device_memory)) return status(cudaErrorMemoryAllocation);
  void *p = nullptr;
  if (posix_memalign(&p, 256, bytes) != 0) return status(cudaErrorMemoryAllocation);
  std::memset(p, 0xff, bytes);
  memory().buffers[number(p)] = {bytes, type};
  if (on_device) memory().used += bytes;
  if (type == cudaMemoryTypeDevice && memory().guard && !memory().open) ASAN_POISON_MEMORY_REGION(p, bytes);
  *ptr = p;
  return cudaSuccess;
}

cudaError_t release(void *p, bool host) {
  std::lock_guard lock(device_lock());
  if (!p) return cudaSuccess;
  auto at = memory().buffers.find(number(p));
  if (at == memory().buffers.end() || (at->second.type == cudaMemoryTypeHost) != host) return status(cudaErrorInvalidValue);
  if (!host) memory().used -= at->second.bytes;
  ASAN_UNPOISON_MEMORY_REGION(p, at->second.bytes);
  memory().buffers.erase(at);
  std::free(p);
  return cudaSuccess;
}

bool is_device(const void *p, std::size_t bytes) {
  auto *buffer = find(p, bytes);
  return buffer && buffer->second.type != cudaMemoryTypeHost;
}

// A pointer into device memory whose range leaves its buffer, or host memory where the kind says device.
bool direction_is_right(const void *dst, const void *src, std::size_t bytes, cudaMemcpyKind kind) {
  if (unsigned(kind) > cudaMemcpyDefault) return false;
  const bool dst_device = is_device(dst, bytes), src_device = is_device(src, bytes);
  if ((!dst_device && is_device(dst, 0)) || (!src_device && is_device(src, 0))) return false;
  if (kind == cudaMemcpyDefault) return true;
  const bool managed = (find(dst, 0) && find(dst, 0)->second.type == cudaMemoryTypeManaged) ||
                       (find(src, 0) && find(src, 0)->second.type == cudaMemoryTypeManaged);
  return managed || (dst_device == (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) &&
                     src_device == (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice));
}

}  // namespace

void open_device_memory(bool open) {
  Memory &m = memory();
  m.open += open ? 1 : -1;
  if (m.guard && m.open == (open ? 1 : 0)) shield(!open);
}

void occupy_device_memory(std::ptrdiff_t bytes) {
  std::lock_guard lock(device_lock());
  memory().used += std::size_t(bytes);
}

void guard_device_memory(bool on) {
  std::lock_guard lock(device_lock());
  memory().guard = on;
  shield(on && !memory().open);
}

}  // namespace emu

using emu::status;

extern "C" {

cudaError_t cudaMalloc(void **ptr, size_t bytes) { return emu::allocate(ptr, bytes, cudaMemoryTypeDevice); }
cudaError_t cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t) { return cudaMalloc(ptr, bytes); }
cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t bytes, cudaMemPool_t, cudaStream_t) { return cudaMalloc(ptr, bytes); }
cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned) {
  return emu::allocate(ptr, bytes, cudaMemoryTypeManaged);
}
cudaError_t cudaMallocHost(void **ptr, size_t bytes) { return emu::allocate(ptr, bytes, cudaMemoryTypeHost); }
cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned) { return cudaMallocHost(ptr, bytes); }
cudaError_t cudaFree(void *ptr) { return emu::release(ptr, false); }
cudaError_t cudaFreeAsync(void *ptr, cudaStream_t) { return emu::release(ptr, false); }
cudaError_t cudaFreeHost(void *ptr) { return emu::release(ptr, true); }

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind) {
  std::lock_guard lock(emu::device_lock());
  if (bytes == 0) return cudaSuccess;
  if (!dst || !src || !emu::direction_is_right(dst, src, bytes, kind)) return status(cudaErrorInvalidValue);
  emu::open_device_memory(true);
  std::memmove(dst, src, bytes);
  emu::open_device_memory(false);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(dst, src, bytes, kind);
}
cudaError_t cudaMemset(void *ptr, int value, size_t bytes) {
  std::lock_guard lock(emu::device_lock());
  if (bytes == 0) return cudaSuccess;
  if (!emu::find(ptr, bytes)) return status(cudaErrorInvalidValue);
  emu::open_device_memory(true);
  std::memset(ptr, value, bytes);
  emu::open_device_memory(false);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *ptr, int value, size_t bytes, cudaStream_t) { return cudaMemset(ptr, value, bytes); }

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  std::lock_guard lock(emu::device_lock());
  *total = emu::device_memory;
  *free = emu::device_memory - emu::memory().used;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *ptr) {
  std::lock_guard lock(emu::device_lock());
  if (!attributes) return status(cudaErrorInvalidValue);
  *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, nullptr};
  if (auto *buffer = emu::find(ptr, 1)) {
    void *p = const_cast<void *>(ptr);
    const cudaMemoryType type = buffer->second.type;
    *attributes = {type, 0, p, type == cudaMemoryTypeDevice ? nullptr : p};
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
  if (!pool) return status(cudaErrorInvalidValue);
  if (device != 0) return status(cudaErrorInvalidDevice);
  static char the_pool;
  *pool = reinterpret_cast<cudaMemPool_t>(&the_pool);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void *value) {
  return pool && value ? cudaSuccess : status(cudaErrorInvalidValue);
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attr, void *value) {
  if (!pool || !value) return status(cudaErrorInvalidValue);
  if (attr < cudaMemPoolAttrReleaseThreshold)
    *static_cast<int *>(value) = 1;
  else
    *static_cast<std::uint64_t *>(value) = attr == cudaMemPoolAttrReleaseThreshold ? 0 : emu::memory().used;
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) { return pool ? cudaSuccess : status(cudaErrorInvalidValue); }
}
