// tcu_peer_cublas: cuBLAS of the toolkit on the cases that a matrix-vector product does:
//   sum(a*b) along dim 1, b a vector   y = A' x
//   sum(a) along one dim of two        the same with a vector of ones
// 16-bit floats accumulate in float32, as ours do. Arguments and output as tcu_bench's; timing as tcu_bench's
// (runner/measure.h).
#include <cublas_v2.h>

#include <vector>

#include "cuda_peer.cuh"

namespace {

using peer::Case, peer::queue, peer::Ways;

cublasHandle_t handle() {
  static const cublasHandle_t made = [] {
    cublasHandle_t h = nullptr;
    if (cublasCreate(&h) != CUBLAS_STATUS_SUCCESS || cublasSetStream(h, queue) != CUBLAS_STATUS_SUCCESS) std::exit(2);
    return h;
  }();
  return made;
}

template <class T>
__global__ void fill_ones(T *to, size_t n) {
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x) to[i] = T(1.0f);
}
template <class T>
const void *ones(size_t n) {
  static peer::Arena arena;
  T *data = reinterpret_cast<T *>(arena.reserve(n * sizeof(T)));
  fill_ones<<<256, 256>>>(data, n);
  MUST(cudaDeviceSynchronize());
  return data;
}

cudaError_t product(float, cublasOperation_t op, int rows, int columns, const void *a, const void *x, void *y) {
  const float one = 1, zero = 0;
  const auto status = cublasSgemv(handle(), op, rows, columns, &one, static_cast<const float *>(a), rows,
                                  static_cast<const float *>(x), 1, &zero, static_cast<float *>(y), 1);
  return status == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}
cudaError_t product(double, cublasOperation_t op, int rows, int columns, const void *a, const void *x, void *y) {
  const double one = 1, zero = 0;
  const auto status = cublasDgemv(handle(), op, rows, columns, &one, static_cast<const double *>(a), rows,
                                  static_cast<const double *>(x), 1, &zero, static_cast<double *>(y), 1);
  return status == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}
// cuBLAS has no matrix-vector product of 16-bit floats: a product with a matrix of one column.
cudaError_t product(cudaDataType_t type, cublasOperation_t op, int rows, int columns, const void *a, const void *x, void *y) {
  const float one = 1, zero = 0;
  const int m = op == CUBLAS_OP_T ? columns : rows, k = op == CUBLAS_OP_T ? rows : columns;
  const auto status = cublasGemmEx(handle(), op, CUBLAS_OP_N, m, 1, k, &one, a, type, rows, x, type, k, &zero, y, type, m,
                                   CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  return status == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}

template <class T, class How>
Ways ways(const Case &c, How how) {
  if (c.shape.size() != 2 || c.dims.size() != 1 || c.out != c.dtype || c.shape[0] > INT32_MAX || c.shape[1] > INT32_MAX) return {};
  const int rows = int(c.shape[0]), columns = int(c.shape[1]);
  const cublasOperation_t op = c.dims[0] == 1 ? CUBLAS_OP_T : CUBLAS_OP_N;
  const void *vector = nullptr;  // null: the second input
  const char *kernel = "matrix-vector product";
  if (c.expr == "sum(a)") {
    vector = ones<T>(size_t(c.fold_length()));
    kernel = "a vector of ones";
  } else if (c.expr != "sum(a*b)" || c.dims[0] != 1 || c.inputs[1].elements() != rows) {
    return {};
  }
  return {{kernel, [=](void *t, size_t &b, const void *x, const void *y, void *o) {
             if (!t) return b = 1, cudaSuccess;
             return product(how, op, rows, columns, x, vector ? vector : y, o);
           }}};
}

Ways ways_of(const Case &c) {
  if (c.dtype == "f16") return ways<__half>(c, CUDA_R_16F);
  if (c.dtype == "bf16") return ways<__nv_bfloat16>(c, CUDA_R_16BF);
  if (c.dtype == "f32") return ways<float>(c, float{});
  if (c.dtype == "f64") return ways<double>(c, double{});
  return {};
}

}  // namespace

int main(int argc, char **argv) {
  int version = 0;
  cublasGetProperty(MAJOR_VERSION, &version);
  return peer::run(argc, argv, "cublas", std::to_string(version), ways_of);
}
