// In place of lib/cuda/cublas.cpp: cuBLAS runs nothing on the host.
#include "core/error.h"
#include "cuda/cublas.h"

namespace tcu::cuda {

Cublas::~Cublas() = default;

void Cublas::matmul(const Backend::Matmul &, void *, void *, size_t) {
  fail(Code::library, "the emulator has no cuBLAS");
}

}  // namespace tcu::cuda
