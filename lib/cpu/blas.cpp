#include "cpu/blas.h"

#include <dlfcn.h>

#include <climits>
#include <cstring>

#include "core/error.h"

namespace tcu::cpu {
namespace {

// Fortran: everything by address; the lengths of the two strings come last, by value.
template <class T>
using Gemm = void (*)(const char *, const char *, const int *, const int *, const int *, const T *, const T *, const int *,
                      const T *, const int *, const T *, T *, const int *, size_t, size_t);

struct Blas {
  void *handle = nullptr;
  Gemm<float> s = nullptr;
  Gemm<double> d = nullptr;
  Gemm<c64_t> c = nullptr;
  Gemm<c128_t> z = nullptr;
  Blas() {
    for (const char *name : {"libopenblas.so.0", "libopenblas.so", "libmkl_rt.so.2", "libmkl_rt.so", "libblis.so.4",
                             "libblas.so.3", "libblas.so", "/System/Library/Frameworks/Accelerate.framework/Accelerate"}) {
      handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (!handle) continue;
      s = reinterpret_cast<Gemm<float>>(dlsym(handle, "sgemm_"));
      d = reinterpret_cast<Gemm<double>>(dlsym(handle, "dgemm_"));
      c = reinterpret_cast<Gemm<c64_t>>(dlsym(handle, "cgemm_"));
      z = reinterpret_cast<Gemm<c128_t>>(dlsym(handle, "zgemm_"));
      if (s && d && c && z) return;
      dlclose(handle);
      handle = nullptr;
    }
  }
};
const Blas &blas() {
  static const Blas b;
  return b;
}

int narrow(int64_t n, const char *what) {
  if (n > INT_MAX) fail(Code::unsupported, "%s is %lld, and the BLAS of this machine counts in 32 bits", what, (long long)n);
  return int(n);
}

template <class T>
void call(Gemm<T> gemm, const Backend::Matmul &x) {
  T alpha, beta;
  store_compute(&alpha, x.dtype, x.alpha);
  store_compute(&beta, x.dtype, x.beta);
  const char ta = x.trans_a ? 'T' : 'N', tb = x.trans_b ? 'T' : 'N';
  const int m = narrow(x.m, "m"), n = narrow(x.n, "n"), k = narrow(x.k, "k");
  const int lda = std::max(1, narrow(x.lda, "the stride of a")), ldb = std::max(1, narrow(x.ldb, "the stride of b")),
            ldc = std::max(1, narrow(x.ldc, "the stride of c"));
  gemm(&ta, &tb, &m, &n, &k, &alpha, static_cast<const T *>(x.a), &lda, static_cast<const T *>(x.b), &ldb, &beta,
       static_cast<T *>(x.c), &ldc, 1, 1);
}

}  // namespace

void matmul(const Backend::Matmul &m) {
  if (m.m == 0 || m.n == 0) return;
  const Blas &b = blas();
  if (!b.handle) fail(Code::library, "a matrix product needs a BLAS and none could be opened; install libopenblas0 or libblas3");
  switch (m.dtype) {
    case DType::f32: return call(b.s, m);
    case DType::f64: return call(b.d, m);
    case DType::c64: return call(b.c, m);
    case DType::c128: return call(b.z, m);
    default: fail(Code::unsupported, "matmul of %s is not offered on the cpu; float32, float64 and the complex ones are", info(m.dtype).name);
  }
}

}  // namespace tcu::cpu
