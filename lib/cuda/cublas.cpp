#include "cuda/cublas.h"

#include "core/error.h"
#include "cuda/cuda_error.h"
#include "cuda/dynamic_library.h"

namespace tcu::cuda {

namespace {

// The part of cuBLAS's ABI that is used; the numbers are those of cublas_api.h and library_types.h since CUDA 11.
constexpr int kNoTranspose = 0, kTranspose = 1;
constexpr int kDefaultAlgorithm = -1;
constexpr int kNoReducedPrecisionReduction = 16;  // a math mode: partial sums of 16-bit products stay float32
enum CudaType { R32F = 0, R64F = 1, R16F = 2, C32F = 4, C64F = 5, R16BF = 14 };
enum ComputeType { Compute32F = 68, Compute64F = 70 };

struct Api {
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*set_stream)(void *handle, void *stream);
  int (*set_workspace)(void *handle, void *workspace, size_t bytes);
  int (*set_math_mode)(void *handle, int mode);
  int (*gemm)(void *handle, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
              int type_a, int64_t lda, const void *b, int type_b, int64_t ldb, const void *beta, void *c, int type_c,
              int64_t ldc, int compute, int algorithm);
  const char *(*text)(int status);

  static const Api &get() {
    static const Api api = [] {
      void *library = open_toolkit_library("cublas");
      if (!library)
        fail(Code::library, "a matrix product needs libcublas and it is not here: install the CUDA toolkit, or set "
                            "CUDA_HOME to it");
      Api a;
      bind(library, "cublasCreate_v2", a.create);
      bind(library, "cublasDestroy_v2", a.destroy);
      bind(library, "cublasSetStream_v2", a.set_stream);
      bind(library, "cublasSetWorkspace_v2", a.set_workspace);
      bind(library, "cublasSetMathMode", a.set_math_mode);
      bind(library, "cublasGemmEx_64", a.gemm);
      bind(library, "cublasGetStatusString", a.text);
      return a;
    }();
    return api;
  }
  void check(int status, const char *doing) const {
    if (status != 0) fail(Code::cuda, "cublas: %s while %s", text(status), doing);
  }
};

CudaType type_of(DType d) {
  switch (d) {
    case DType::f16: return R16F;
    case DType::bf16: return R16BF;
    case DType::f32: return R32F;
    case DType::f64: return R64F;
    case DType::c64: return C32F;
    case DType::c128: return C64F;
    default:
      fail(Code::dtype, "matmul of %s: it takes float16, bfloat16, float32, float64 and complex", info(d).name);
  }
}

}  // namespace

Cublas::~Cublas() {
  if (handle_) Api::get().destroy(handle_);
}

void Cublas::matmul(const Backend::Matmul &m, void *stream, void *workspace, size_t workspace_bytes) {
  const CudaType type = type_of(m.dtype);
  const Api &api = Api::get();
  alignas(16) char alpha[16], beta[16];
  store_compute(alpha, m.dtype, m.alpha);
  store_compute(beta, m.dtype, m.beta);
  const ComputeType compute = type == R64F || type == C64F ? Compute64F : Compute32F;

  std::lock_guard lock(mutex_);  // stream and workspace are the handle's state
  if (!handle_) {
    const RelaxedCapture relaxed;
    api.check(api.create(&handle_), "starting");
    api.check(api.set_math_mode(handle_, kNoReducedPrecisionReduction), "setting its precision");
  }
  api.check(api.set_stream(handle_, stream), "setting its stream");
  api.check(api.set_workspace(handle_, workspace, workspace_bytes), "setting its workspace");  // after the stream, which resets it
  api.check(api.gemm(handle_, m.trans_a ? kTranspose : kNoTranspose, m.trans_b ? kTranspose : kNoTranspose, m.m, m.n, m.k,
                     alpha, m.a, type, m.lda, m.b, type, m.ldb, beta, m.c, type, m.ldc, compute, kDefaultAlgorithm),
            "multiplying matrices");
}

}  // namespace tcu::cuda
