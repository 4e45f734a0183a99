#include "cuda/cuda_error.h"

#include "core/error.h"

namespace tcu::cuda {

namespace {

Code code_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return Code::out_of_memory;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver: return Code::device;
    default: return Code::cuda;
  }
}

}  // namespace

void fail_cuda(cudaError_t error, const char *doing) {
  cudaGetLastError();  // else the caller's next check of its own would see it
  fail(code_of(error), "cuda: %s (%s) while %s", cudaGetErrorString(error), cudaGetErrorName(error), doing);
}

OnDevice::OnDevice(int ordinal) {
  int current = -1;
  check(cudaGetDevice(&current), "asking for the current device");
  if (current == ordinal) return;
  check(cudaSetDevice(ordinal), "selecting the device");
  previous_ = current;
}
OnDevice::~OnDevice() {
  if (previous_ >= 0) cudaSetDevice(previous_);
}

#if defined(TCU_EMULATOR)  // it has no graphs
RelaxedCapture::RelaxedCapture() = default;
RelaxedCapture::~RelaxedCapture() = default;
#else
RelaxedCapture::RelaxedCapture() {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  check(cudaThreadExchangeStreamCaptureMode(&mode), "relaxing the capture mode");
  mode_ = mode;
}
RelaxedCapture::~RelaxedCapture() {
  auto mode = cudaStreamCaptureMode(mode_);
  cudaThreadExchangeStreamCaptureMode(&mode);
}
#endif

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) {
    cudaGetLastError();  // the legacy stream, while another stream captures
    return false;
  }
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace tcu::cuda
