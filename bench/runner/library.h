// tcuops.h with exceptions and destructors.
#pragma once
#include <stdexcept>
#include <string>

#include "capi/tcuops.h"

namespace bench {

struct Failure : std::runtime_error {
  explicit Failure(tcu_status_t s) : std::runtime_error(std::string(tcu_status_name(s)) + ": " + tcu_last_error()), status(s) {}
  tcu_status_t status;
};
inline void must(tcu_status_t status) {
  if (status != TCU_OK) throw Failure(status);
}

class Device {
 public:
  explicit Device(const std::string &backend) {
    must(tcu_context_create(&context, backend.c_str(), 0));
    info = TCU_DEVICE_INFO_INIT;
    must(tcu_device_info(&info, backend.c_str(), 0));
    is_cuda = backend == "cuda";
    must(tcu_stream_create(context, &stream));
  }
  ~Device() {
    tcu_stream_destroy(context, stream);
    tcu_context_destroy(context);
  }
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  void synchronize() const { must(tcu_synchronize(context, stream)); }
  // What the operands are rotated out of: the GPU's L2; on the cpu, whose cache the library does not tell, 32 MiB.
  int64_t cache_bytes() const { return is_cuda && info.l2_bytes > 0 ? info.l2_bytes : int64_t{32} << 20; }

  tcu_context_t context = nullptr;
  void *stream = nullptr;
  tcu_device_info_t info;
  bool is_cuda = false;
};

// Device memory that grows on demand and keeps nothing when it does.
class Buffer {
 public:
  explicit Buffer(const Device &device) : device_(device) {}
  ~Buffer() { release(); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  // True if the contents are new, and so undefined.
  bool reserve(size_t bytes) {
    if (bytes <= bytes_) return false;
    release();
    must(tcu_malloc(device_.context, &data_, bytes, device_.stream));
    bytes_ = bytes;
    return true;
  }
  void release() {
    if (!data_) return;
    tcu_free(device_.context, data_, device_.stream);
    tcu_synchronize(device_.context, device_.stream);
    data_ = nullptr, bytes_ = 0;
  }
  char *at(int64_t byte) const { return static_cast<char *>(data_) + byte; }
  size_t bytes() const { return bytes_; }

 private:
  const Device &device_;
  void *data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace bench
