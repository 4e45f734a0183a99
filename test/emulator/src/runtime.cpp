// The rest of the runtime API: errors, the one device, streams and events (everything has happened when a call
// returns), launches with CUDA's checks, and libraries (shared objects instead of cubins).
#include "runtime.h"
#include "scheduler.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

struct CUstream_st {
  unsigned flags;
  int priority;
};
struct CUevent_st {
  unsigned flags;
  bool recorded;
  std::chrono::steady_clock::time_point time;
};

namespace emu {
namespace {

thread_local cudaError_t pending = cudaSuccess;

struct ErrorText {
  cudaError_t error;
  const char *name, *text;
};
#define ERROR_TEXT(code, text) {code, #code, text}
constexpr ErrorText error_texts[] = {
    ERROR_TEXT(cudaSuccess, "no error"),
    ERROR_TEXT(cudaErrorInvalidValue, "invalid argument"),
    ERROR_TEXT(cudaErrorMemoryAllocation, "out of memory"),
    ERROR_TEXT(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR_TEXT(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ERROR_TEXT(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ERROR_TEXT(cudaErrorInvalidDevice, "invalid device ordinal"),
    ERROR_TEXT(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    ERROR_TEXT(cudaErrorFileNotFound, "file not found"),
    ERROR_TEXT(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ERROR_TEXT(cudaErrorSymbolNotFound, "named symbol not found"),
    ERROR_TEXT(cudaErrorNotReady, "device not ready"),
    ERROR_TEXT(cudaErrorLaunchFailure, "unspecified launch failure"),
    ERROR_TEXT(cudaErrorNotSupported, "operation not supported"),
    ERROR_TEXT(cudaErrorUnknown, "unknown error"),
};
const ErrorText *find_error(cudaError_t error) {
  for (const ErrorText &row : error_texts)
    if (row.error == error) return &row;
  return nullptr;
}

const KernelEntry *as_kernel(const void *func) {
  auto *entry = static_cast<const KernelEntry *>(func);
  return entry && entry->magic == kernel_magic ? entry : nullptr;
}

std::map<const void *, int> &dynamic_limits() {  // by cudaFuncSetAttribute; under device_lock
  static std::map<const void *, int> instance;
  return instance;
}
std::size_t dynamic_limit(const void *func) {
  auto at = dynamic_limits().find(func);
  return at == dynamic_limits().end() ? max_shared_per_block : std::size_t(at->second);
}

cudaError_t launch_kernel(const void *func, dim3 grid, dim3 block, void **args, std::size_t shared, unsigned cluster = 1) {
  std::lock_guard lock(device_lock());
  const KernelEntry *kernel = as_kernel(func);
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  const std::uint64_t threads = std::uint64_t(block.x) * block.y * block.z;
  const bool fits = block.x >= 1 && block.y >= 1 && block.z >= 1 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
                    threads <= 1024 && grid.x >= 1 && grid.y >= 1 && grid.z >= 1 && grid.x <= 0x7fffffffu &&
                    grid.y <= 65535 && grid.z <= 65535;
  if (!fits) return cudaErrorInvalidConfiguration;
  if (shared > dynamic_limit(func)) return cudaErrorInvalidValue;
  const std::string error = run(*kernel, grid, block, cluster, shared, args);
  if (error.empty()) return cudaSuccess;
  set_last_error(error);
  return cudaErrorLaunchFailure;
}

}  // namespace

cudaError_t status(cudaError_t error) {
  if (error != cudaSuccess) pending = error;
  return error;
}

}  // namespace emu

using emu::status;

extern "C" {

const char *cudaGetErrorName(cudaError_t error) {
  const auto *row = emu::find_error(error);
  return row ? row->name : "unrecognized error code";
}
const char *cudaGetErrorString(cudaError_t error) {
  static thread_local std::string text;
  if (error == cudaErrorLaunchFailure && !(text = emu::last_error()).empty()) return text.c_str();
  const auto *row = emu::find_error(error);
  return row ? row->text : "unrecognized error code";
}
cudaError_t cudaGetLastError() { return std::exchange(emu::pending, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return emu::pending; }

cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : status(cudaErrorInvalidDevice); }
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
cudaError_t cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
cudaError_t cudaDeviceGetPCIBusId(char *id, int len, int device) {
  if (device != 0) return status(cudaErrorInvalidDevice);
  std::snprintf(id, std::size_t(len), "0000:00:00.0");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaDeviceReset() { return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device) {
  if (device != 0) return status(cudaErrorInvalidDevice);
  *p = {};
  std::strcpy(p->name, "emulator");
  p->totalGlobalMem = emu::device_memory;
  p->sharedMemPerBlock = emu::max_shared_per_block;
  p->sharedMemPerBlockOptin = emu::max_shared_optin;
  p->sharedMemPerMultiprocessor = emu::shared_per_sm;
  p->reservedSharedMemPerBlock = 1024;
  p->totalConstMem = 64 << 10;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->memPitch = 0x7fffffff;
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->major = 9;
  p->textureAlignment = 512;
  p->multiProcessorCount = emu::sm_count;
  p->maxThreadsPerMultiProcessor = emu::threads_per_sm;
  p->maxBlocksPerMultiProcessor = emu::blocks_per_sm;
  p->l2CacheSize = 1 << 20;
  p->memoryBusWidth = 64;
  p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->streamPrioritiesSupported = 1;
  p->managedMemory = p->memoryPoolsSupported = p->asyncEngineCount = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attr, int device) {
  cudaDeviceProp p;
  if (!value) return status(cudaErrorInvalidValue);
  if (cudaGetDeviceProperties(&p, device) != cudaSuccess) return cudaErrorInvalidDevice;
  switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock: return *value = p.maxThreadsPerBlock, cudaSuccess;
    case cudaDevAttrMaxBlockDimX: return *value = p.maxThreadsDim[0], cudaSuccess;
    case cudaDevAttrMaxBlockDimY: return *value = p.maxThreadsDim[1], cudaSuccess;
    case cudaDevAttrMaxBlockDimZ: return *value = p.maxThreadsDim[2], cudaSuccess;
    case cudaDevAttrMaxGridDimX: return *value = p.maxGridSize[0], cudaSuccess;
    case cudaDevAttrMaxGridDimY: return *value = p.maxGridSize[1], cudaSuccess;
    case cudaDevAttrMaxGridDimZ: return *value = p.maxGridSize[2], cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock: return *value = int(p.sharedMemPerBlock), cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return *value = int(p.sharedMemPerBlockOptin), cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return *value = int(p.sharedMemPerMultiprocessor), cudaSuccess;
    case cudaDevAttrReservedSharedMemoryPerBlock: return *value = int(p.reservedSharedMemPerBlock), cudaSuccess;
    case cudaDevAttrTotalConstantMemory: return *value = int(p.totalConstMem), cudaSuccess;
    case cudaDevAttrWarpSize: return *value = p.warpSize, cudaSuccess;
    case cudaDevAttrMaxRegistersPerBlock: return *value = p.regsPerBlock, cudaSuccess;
    case cudaDevAttrMaxRegistersPerMultiprocessor: return *value = p.regsPerMultiprocessor, cudaSuccess;
    case cudaDevAttrMultiProcessorCount: return *value = p.multiProcessorCount, cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return *value = p.maxThreadsPerMultiProcessor, cudaSuccess;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return *value = p.maxBlocksPerMultiProcessor, cudaSuccess;
    case cudaDevAttrL2CacheSize: return *value = p.l2CacheSize, cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: return *value = p.major, cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: return *value = p.minor, cudaSuccess;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate: return *value = 1000000, cudaSuccess;  // kHz
    case cudaDevAttrGlobalMemoryBusWidth: return *value = p.memoryBusWidth, cudaSuccess;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrMemoryPoolsSupported: return *value = 1, cudaSuccess;
    case cudaDevAttrIntegrated:
    case cudaDevAttrComputeMode:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrPciBusId:
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrCooperativeLaunch: return *value = 0, cudaSuccess;
  }
  return status(cudaErrorInvalidValue);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
  if (!stream || flags > cudaStreamNonBlocking) return status(cudaErrorInvalidValue);
  *stream = new CUstream_st{flags, priority};
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return status(cudaErrorInvalidResourceHandle);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned) {
  return event ? cudaSuccess : status(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *s) {
  return *s = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus *s, unsigned long long *id) {
  if (id) *id = 0;
  return *s = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id) {
  return *id = reinterpret_cast<unsigned long long>(stream), cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t, int *device) { return *device = 0, cudaSuccess; }
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t fn, void *data) { return fn(data), cudaSuccess; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  if (!event) return status(cudaErrorInvalidValue);
  *event = new CUevent_st{flags, false, {}};
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (!event) return status(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  if (!event) return status(cudaErrorInvalidResourceHandle);
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return event ? cudaSuccess : status(cudaErrorInvalidResourceHandle); }
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  for (cudaEvent_t e : {start, end})
    if (!e || !e->recorded || (e->flags & cudaEventDisableTiming)) return status(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t) {
  return status(emu::launch_kernel(func, grid, block, args, shared));
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args) {
  if (!config || (config->numAttrs && !config->attrs)) return status(cudaErrorInvalidValue);
  unsigned cluster = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute &attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) return status(cudaErrorNotSupported);
    if (attribute.id != cudaLaunchAttributeClusterDimension) continue;
    cluster = attribute.val.clusterDim.x;
    if (attribute.val.clusterDim.y != 1 || attribute.val.clusterDim.z != 1) return status(cudaErrorNotSupported);
    if (cluster < 1 || cluster > 16 || config->gridDim.x % cluster != 0) return status(cudaErrorInvalidConfiguration);
  }
  return status(emu::launch_kernel(func, config->gridDim, config->blockDim, args, config->dynamicSmemBytes, cluster));
}
cudaError_t cudaFuncSetAttribute(const void *func, cudaFuncAttribute attr, int value) {
  std::lock_guard lock(emu::device_lock());
  if (!emu::as_kernel(func)) return status(cudaErrorInvalidDeviceFunction);
  if (attr != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || std::size_t(value) > emu::max_shared_optin) return status(cudaErrorInvalidValue);
  emu::dynamic_limits()[func] = value;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *func) {
  std::lock_guard lock(emu::device_lock());
  if (!emu::as_kernel(func)) return status(cudaErrorInvalidDeviceFunction);
  *attributes = {0, 0, 0, 1024, 32, 90, 90, 0, int(emu::dynamic_limit(func)), -1};
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func, int block_size, size_t shared) {
  if (!emu::as_kernel(func)) return status(cudaErrorInvalidDeviceFunction);
  if (!blocks || block_size < 1) return status(cudaErrorInvalidValue);
  const int by_threads = block_size > 1024 ? 0 : std::min(emu::blocks_per_sm, emu::threads_per_sm / ((block_size + 31) / 32 * 32));
  *blocks = std::min<int>(by_threads, int(emu::shared_per_sm / (shared + 1024)));
  return cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, cudaJitOption *, void **, unsigned,
                                cudaLibraryOption *, void **, unsigned) {
  if (!library || !code) return status(cudaErrorInvalidValue);
  void *handle = dlopen(static_cast<const char *>(code), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    std::fprintf(stderr, "emulator: %s\n", dlerror());
    return status(cudaErrorInvalidKernelImage);
  }
  *library = static_cast<cudaLibrary_t>(handle);
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
  if (!kernel || !library || !name) return status(cudaErrorInvalidValue);
  void *entry = dlsym(library, ("tcu_entry_" + std::string(name)).c_str());
  if (!entry) return status(cudaErrorSymbolNotFound);
  *kernel = static_cast<cudaKernel_t>(entry);
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  if (!library) return status(cudaErrorInvalidResourceHandle);
  dlclose(library);
  return cudaSuccess;
}
}
