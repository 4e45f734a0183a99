// The cuda backend: memory, streams and events of one device. Every entry may be called by any thread, whatever device
// that thread has current, and while any stream is captured into a graph.
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "cuda/cublas.h"
#include "cuda/cuda_error.h"
#include "cuda/mark_segments.h"
#include "cuda/rows.h"
#include "cuda/scratch.h"
#include "plan/backend.h"

namespace tcu {
namespace cuda {
namespace {

cudaStream_t stream_of(void *stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void *event) { return static_cast<cudaEvent_t>(event); }

// Pageable and pinned memory alike; managed memory is the device's.
bool is_host_memory(const void *data) {
  cudaPointerAttributes a;
  check(cudaPointerGetAttributes(&a, data), "looking at a pointer");
  return a.type == cudaMemoryTypeUnregistered || a.type == cudaMemoryTypeHost;
}

// For calls that may ask something of all streams, or wait: while one is captured these are refused to the thread that does it.
struct AnyTime {
  explicit AnyTime(int ordinal) : device(ordinal) {}
  const OnDevice device;
  const RelaxedCapture relaxed;
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int ordinal) : device_(cuda_device(ordinal)) {
    const OnDevice guard(ordinal);
    cudaMemPool_t pool = nullptr;
    check(cudaDeviceGetDefaultMemPool(&pool, ordinal), "asking for the device's memory pool");
    // Freed memory stays with the process: the default gives it back to the system at every synchronization.
    uint64_t keep = UINT64_MAX;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "setting up the device's memory pool");
    scratch_.emplace();
  }
  ~CudaBackend() override {
    int current = -1;
    if (cudaGetDevice(&current) != cudaSuccess) return;  // the process is ending and CUDA has gone
    if (cudaSetDevice(device_.ordinal) == cudaSuccess) cudaDeviceSynchronize();
    scratch_.reset();
    cudaSetDevice(current);
  }

  const Device &device() const override { return device_; }
  std::span<const Kernel> kernels() const override { return registry(); }

  Scratch scratch(void *stream, size_t zeroed, size_t rest) override {
    const OnDevice guard(device_.ordinal);
    return scratch_->of(stream_of(stream), zeroed, rest);
  }
  void *allocate(size_t bytes, void *stream) override {
    if (bytes == 0) return nullptr;
    const AnyTime guard(device_.ordinal);
    void *data = nullptr;
    cudaError_t status = cudaMallocAsync(&data, bytes, stream_of(stream));
    if (status == cudaErrorMemoryAllocation && !is_capturing(stream_of(stream))) {
      cudaGetLastError();
      cudaDeviceSynchronize();  // what other streams have freed and not yet reached
      status = cudaMallocAsync(&data, bytes, stream_of(stream));
    }
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      size_t available = 0, total = 0;
      cudaMemGetInfo(&available, &total);
      fail(Code::out_of_memory, "no room for %zu bytes on cuda device %d: %zu of its %zu are free outside the pool", bytes,
           device_.ordinal, available, total);
    }
    check(status, "allocating memory");
    return data;
  }
  void release(void *data, void *stream) override {
    if (!data) return;
    const AnyTime guard(device_.ordinal);
    check(cudaFreeAsync(data, stream_of(stream)), "freeing memory");
  }
  void copy(void *to, const void *from, size_t bytes, void *stream) override {
    if (bytes == 0) return;
    const OnDevice guard(device_.ordinal);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)), "copying memory");
    if ((is_host_memory(to) || is_host_memory(from)) && !is_capturing(stream_of(stream)))
      check(cudaStreamSynchronize(stream_of(stream)), "copying memory");
  }
  void zero(void *data, size_t bytes, void *stream) override {
    if (bytes == 0) return;
    const OnDevice guard(device_.ordinal);
    check(cudaMemsetAsync(data, 0, bytes, stream_of(stream)), "clearing memory");
  }
  void synchronize(void *stream) override {
    const AnyTime guard(device_.ordinal);
    check(cudaStreamSynchronize(stream_of(stream)), "waiting for a stream");
  }

  bool is_recording(void *stream) override {
    const OnDevice guard(device_.ordinal);
    return is_capturing(stream_of(stream));
  }
  void *stream_create() override {
    const AnyTime guard(device_.ordinal);
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    return stream;
  }
  void stream_destroy(void *stream) override {
    if (!stream) return;
    const AnyTime guard(device_.ordinal);
    check(cudaStreamDestroy(stream_of(stream)), "destroying a stream");
  }
  void *event_create() override {
    const AnyTime guard(device_.ordinal);
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event), "making an event");
    return event;
  }
  void event_destroy(void *event) override {
    if (!event) return;
    const AnyTime guard(device_.ordinal);
    check(cudaEventDestroy(event_of(event)), "destroying an event");
  }
  void event_record(void *event, void *stream) override {
    const OnDevice guard(device_.ordinal);
    check(cudaEventRecord(event_of(event), stream_of(stream)), "recording an event");
  }
  float event_elapsed(void *from, void *to) override {
    const AnyTime guard(device_.ordinal);
    float milliseconds = 0;
    check(cudaEventSynchronize(event_of(to)), "waiting for an event");
    check(cudaEventElapsedTime(&milliseconds, event_of(from), event_of(to)), "measuring between two events");
    return milliseconds;
  }

  void mark_segments(const SegmentMarks &m, void *stream) override {
    const OnDevice guard(device_.ordinal);
    cuda::mark_segments(m, device_, stream);
  }

  void matmul(const Matmul &m, void *stream) override {
    if (m.m == 0 || m.n == 0) return;
    const OnDevice guard(device_.ordinal);
    const size_t bytes = Cublas::workspace_bytes(device_);
    struct Pooled {
      Backend &backend;
      void *data, *stream;
      ~Pooled() {
        try {
          backend.release(data, stream);
        } catch (const Error &) {  // the product's own error is the one to report
        }
      }
    } workspace{*this, allocate(bytes, stream), stream};
    cublas_.matmul(m, stream, workspace.data, bytes);
  }

 private:
  Device device_;
  Cublas cublas_;
  std::optional<ScratchSlots> scratch_;
};

}  // namespace
}  // namespace cuda

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // no driver, or none that serves this runtime: the same as no device
  return 0;
}

Device cuda_device(int ordinal) {
  const int count = cuda_device_count();
  if (ordinal < 0 || ordinal >= count) {
    if (count == 0) fail(Code::device, "there is no CUDA device here: use backend \"cpu\"");
    fail(Code::device, "there is no cuda device %d; devices are numbered 0..%d", ordinal, count - 1);
  }
  cudaDeviceProp p;
  cuda::check(cudaGetDeviceProperties(&p, ordinal), "asking for the device");
  Device d;
  d.backend = "cuda";
  d.name = p.name;
  d.ordinal = ordinal;
  d.major = p.major, d.minor = p.minor;
  d.processors = p.multiProcessorCount;
  d.threads_per_processor = p.maxThreadsPerMultiProcessor;
  d.shared_bytes = int64_t(p.sharedMemPerBlockOptin);
  d.l2_bytes = p.l2CacheSize;
  d.memory_bytes = int64_t(p.totalGlobalMem);
  const auto number = [ordinal](cudaDeviceAttr attribute) {
    int value = 0;
    cuda::check(cudaDeviceGetAttribute(&value, attribute, ordinal), "asking for the device");
    return double(value);
  };
  const double clock = number(cudaDevAttrClockRate), memory_clock = number(cudaDevAttrMemoryClockRate);  // kHz; two words a cycle
  if (clock > 0) d.bytes_a_cycle = 2 * memory_clock / clock * number(cudaDevAttrGlobalMemoryBusWidth) / 8;
  return d;
}

std::unique_ptr<Backend> make_cuda_backend(int device) { return std::make_unique<cuda::CudaBackend>(device); }

}  // namespace tcu
