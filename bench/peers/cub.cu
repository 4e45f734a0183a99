// tcu_peer_cub: CUB of the installed CCCL on the cases that it has an algorithm for:
//   full sums and maxima           DeviceReduce
//   sums over the leading dims     DeviceSegmentedReduce, offsets computed, not stored
//   1-D inclusive sums             DeviceScan
//   inclusive sums along dim 1     DeviceScan::InclusiveSumByKey, keys computed
//   a+b of equal shapes            DeviceTransform
// 16-bit floats accumulate in float32, as ours do. Arguments and output as tcu_bench's; timing as tcu_bench's.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <cuda/std/functional>
#include <functional>
#include <numeric>
#include <type_traits>

#include "../runner/cases.h"

namespace {

#define MUST(call)                                                                       \
  do {                                                                                   \
    cudaError_t error_ = (call);                                                         \
    if (error_ != cudaSuccess) {                                                         \
      std::fprintf(stderr, "tcu_peer_cub: %s: %s\n", #call, cudaGetErrorString(error_)); \
      std::exit(2);                                                                      \
    }                                                                                    \
  } while (0)

using bench::Case;
constexpr size_t plug_bytes = size_t{256} << 20;

template <class T>
constexpr bool is_small_float = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
template <class T>
using Accumulator = std::conditional_t<is_small_float<T>, float, T>;

struct MultiplyBy {
  long long factor;
  __host__ __device__ long long operator()(long long i) const { return i * factor; }
};
struct DivideBy {
  long long divisor;
  __host__ __device__ long long operator()(long long i) const { return i / divisor; }
};
template <class T>
struct Add {
  __host__ __device__ T operator()(T a, T b) const {
    using A = Accumulator<T>;
    return static_cast<T>(static_cast<A>(a) + static_cast<A>(b));
  }
};
// The scan's accumulator type is its operator's result type.
template <class A>
struct Plus {
  __host__ __device__ A operator()(A a, A b) const { return a + b; }
};

// One call of the algorithm: f(temporary, bytes, in0, in1, out); with a null temporary it only sets bytes.
using Algorithm = std::function<cudaError_t(void *, size_t &, const void *, const void *, void *)>;

template <class T>
Algorithm algorithm(const Case &c, std::string *kernel) {
  using A = Accumulator<T>;
  const long long n = c.inputs[0].elements(), length = c.fold_length(), segments = n / length;
  auto in = [](const void *p) { return static_cast<const T *>(p); };
  auto out = [](void *p) { return static_cast<T *>(p); };
  bool leading = true;  // the dims are 1..k
  for (size_t k = 0; k < c.dims.size(); k++) leading = leading && c.dims[k] == static_cast<int>(k) + 1;

  if (c.expr == "sum(a)" && length == n && c.out == c.dtype) {
    *kernel = "DeviceReduce";
    return [=](void *t, size_t &b, const void *x, const void *, void *o) {
      return cub::DeviceReduce::Reduce(t, b, in(x), out(o), n, cuda::std::plus<A>{}, A(0));
    };
  }
  if (c.expr == "sum(a)" && leading && c.out == c.dtype) {
    *kernel = "DeviceSegmentedReduce";
    auto offsets = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), MultiplyBy{length});
    return [=](void *t, size_t &b, const void *x, const void *, void *o) {
      return cub::DeviceSegmentedReduce::Reduce(t, b, in(x), out(o), segments, offsets, offsets + 1,
                                                cuda::std::plus<A>{}, A(0));
    };
  }
  if (c.expr == "cumsum(a)" && c.out == c.dtype && c.dims == std::vector<int>{1}) {
    if (segments == 1) {
      *kernel = "DeviceScan";
      return [=](void *t, size_t &b, const void *x, const void *, void *o) {
        return cub::DeviceScan::InclusiveScan(t, b, in(x), out(o), Plus<A>{}, n);
      };
    }
    *kernel = "DeviceScan by key";
    auto keys = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), DivideBy{length});
    return [=](void *t, size_t &b, const void *x, const void *, void *o) {
      return cub::DeviceScan::InclusiveScanByKey(t, b, keys, in(x), out(o), Plus<A>{}, n);
    };
  }
  if (c.expr == "a+b" && c.inputs[0].shape == c.inputs[1].shape && c.inputs[1].span == n) {
    *kernel = "DeviceTransform";
    return [=](void *t, size_t &b, const void *x, const void *y, void *o) {
      if (!t) return b = 1, cudaSuccess;
      return cub::DeviceTransform::Transform(cuda::std::make_tuple(in(x), in(y)), out(o), n, Add<T>{});
    };
  }
  return {};
}

Algorithm algorithm_of(const Case &c, std::string *kernel) {
  if (c.dtype == "f16") return algorithm<__half>(c, kernel);
  if (c.dtype == "bf16") return algorithm<__nv_bfloat16>(c, kernel);
  if (c.dtype == "f32") return algorithm<float>(c, kernel);
  if (c.dtype == "f64") return algorithm<double>(c, kernel);
  if (c.dtype == "i32") return algorithm<int>(c, kernel);
  return {};
}

template <class T>
__global__ void randomize(T *data, size_t n) {
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x) {
    uint32_t h = static_cast<uint32_t>(i * 2654435761u) ^ static_cast<uint32_t>(i >> 17);
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h ^= h >> 13;
    data[i] = static_cast<T>(static_cast<float>(static_cast<int>(h >> 8)) * 0x1p-23f - 1.0f);
  }
}

class Arena {
 public:
  char *reserve(size_t bytes) {
    if (bytes > bytes_) {
      MUST(cudaFree(data_));
      MUST(cudaMalloc(&data_, bytes));
      bytes_ = bytes;
    }
    return data_;
  }

 private:
  char *data_ = nullptr;
  size_t bytes_ = 0;
};

size_t round_up(size_t n) { return (n + 255) / 256 * 256; }

// As CaseRunner::measure_cuda.
void measure(const std::function<void(int64_t)> &call, bool quick, char *plug, bench::Row *row) {
  static cudaEvent_t from = nullptr, to = nullptr;
  if (!from) {
    MUST(cudaEventCreate(&from));
    MUST(cudaEventCreate(&to));
  }
  auto batch = [&](int64_t first, int64_t n, double plug_us, double *host_us) {
    for (double t = 0; t < plug_us; t += 2.0 * plug_bytes / 4e6) {
      MUST(cudaMemcpyAsync(plug, plug + plug_bytes, plug_bytes, cudaMemcpyDeviceToDevice));
    }
    MUST(cudaEventRecord(from));
    auto start = std::chrono::steady_clock::now();
    for (int64_t k = first; k < first + n; k++) call(k);
    double host = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / n;
    if (host_us) *host_us = host;
    MUST(cudaEventRecord(to));
    MUST(cudaEventSynchronize(to));
    MUST(cudaGetLastError());
    float ms = 0;
    MUST(cudaEventElapsedTime(&ms, from, to));
    return 1000.0 * ms / n;
  };
  batch(0, 2, 0, nullptr);
  double host_us = 0;
  double us = batch(2, 4, 0, &host_us);
  const int64_t n = std::clamp<int64_t>(std::ceil((quick ? 600 : 1200) / us), 1, 500);
  const double plug_us = us < 100 ? 1.5 * n * host_us + 50 : 0;
  std::vector<double> times;
  for (int64_t s = 0; s < (quick || us > 2e4 ? 7 : 15); s++) times.push_back(batch(6 + s * n, n, plug_us, nullptr));
  bench::summarize(times, row);
  row->host_us = host_us;
  row->method = plug_us > 0 ? "batch behind a busy device" : "batch";
}

}  // namespace

int main(int argc, char **argv) {
  auto start = std::chrono::steady_clock::now();
  const bench::Options options = bench::parse_options(argc, argv);
  const std::vector<Case> cases = bench::load_cases(options);
  cudaDeviceProp device;
  MUST(cudaGetDeviceProperties(&device, 0));
  bench::RowFile rows(options.out);
  rows.meta("cub", std::to_string(CUB_VERSION / 100000) + "." + std::to_string(CUB_VERSION / 100 % 1000));
  Arena operands, results, temporary, plug;
  plug.reserve(2 * plug_bytes);

  for (const Case &c : cases) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > options.budget) {
      rows.meta("left out", "cub: the time budget was spent");
      break;
    }
    bench::Row row;
    row.who = "cub";
    Algorithm f = algorithm_of(c, &row.kernel);
    if (!f) continue;
    const size_t in_bytes = round_up(c.inputs[0].elements() * bench::dtype_bytes(c.dtype));
    const size_t out_bytes =
        round_up(in_bytes / c.fold_length() * (c.family.find("scan") == std::string::npos ? 1 : c.fold_length()));
    const size_t sets = bench::rotation(c.bytes(), device.l2CacheSize), n_in = c.inputs.size();
    char *in = operands.reserve(sets * n_in * in_bytes), *out = results.reserve(sets * out_bytes);
    const size_t n = sets * n_in * in_bytes / bench::dtype_bytes(c.dtype);
    if (c.dtype == "f16")
      randomize<<<1024, 256>>>(reinterpret_cast<__half *>(in), n);
    else if (c.dtype == "bf16")
      randomize<<<1024, 256>>>(reinterpret_cast<__nv_bfloat16 *>(in), n);
    else if (c.dtype == "f64")
      randomize<<<1024, 256>>>(reinterpret_cast<double *>(in), n);
    else if (c.dtype == "f32")
      randomize<<<1024, 256>>>(reinterpret_cast<float *>(in), n);
    else
      randomize<<<1024, 256>>>(reinterpret_cast<int *>(in), n);
    size_t temporary_bytes = 0;
    MUST(f(nullptr, temporary_bytes, in, in, out));
    char *scratch = temporary.reserve(std::max<size_t>(temporary_bytes, 1));
    measure(
        [&](int64_t k) {
          const char *x = in + k % sets * n_in * in_bytes;
          MUST(f(scratch, temporary_bytes, x, n_in > 1 ? x + in_bytes : x, out + k % sets * out_bytes));
        },
        options.quick, plug.reserve(2 * plug_bytes), &row);
    rows.row(c, row);
    std::fprintf(stderr, "cub      %-28s %-5s %-14s %10.1f us %8.1f GB/s\n", c.name.c_str(), c.dtype.c_str(),
                 c.expr.c_str(), row.us, c.bytes() / row.us / 1e3);
  }
  return 0;
}
