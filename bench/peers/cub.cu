// tcu_peer_cub: CUB of the installed CCCL on the cases that it has an algorithm for:
//   full sums                      DeviceReduce
//   sums over the leading dims     DeviceSegmentedReduce, offsets computed, not stored
//   1-D inclusive sums             DeviceScan
//   inclusive sums along dim 1     DeviceScan::InclusiveSumByKey, keys computed
//   a+b of equal shapes            DeviceTransform
// tcu_peer_cccl: the same of a newer CCCL (TCUOPS_CCCL names its include folder; TCU_CCCL is defined), as a peer of its own, whose
// DeviceSegmentedReduce takes segments of one length without offsets.
// 16-bit floats accumulate in float32, as ours do; of one length in 16 bits too, where that is faster. Arguments and output as
// tcu_bench's; timing as tcu_bench's (runner/measure.h).
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/cub.cuh>
#include <cuda/std/functional>
#include <type_traits>

#include "cuda_peer.cuh"

namespace {

using peer::Case, peer::queue, peer::Ways;

template <class T>
constexpr bool is_small_float = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
template <class T>
using Accumulator = std::conditional_t<is_small_float<T>, float, T>;

#ifndef TCU_CCCL
struct MultiplyBy {
  long long factor;
  __host__ __device__ long long operator()(long long i) const { return i * factor; }
};
#endif
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

template <class T>
const T *in(const void *p) {
  return static_cast<const T *>(p);
}
template <class T>
T *out(void *p) {
  return static_cast<T *>(p);
}

template <class T, class Out>
Ways sums(const Case &c) {
  using A = std::conditional_t<is_small_float<T>, float, Out>;
  const long long n = c.inputs[0].elements(), length = c.fold_length(), segments = n / length;
  for (size_t k = 0; k < c.dims.size(); k++) {
    if (c.dims[k] != static_cast<int>(k) + 1) return {};
  }
  if (length == n) {
    return {{"DeviceReduce", [=](void *t, size_t &b, const void *x, const void *, void *o) {
               return cub::DeviceReduce::Reduce(t, b, in<T>(x), out<Out>(o), n, cuda::std::plus<A>{}, A(0), queue);
             }}};
  }
#ifdef TCU_CCCL
  if (length > INT32_MAX) return {};
  const int one = static_cast<int>(length);
  Ways ways = {{"DeviceSegmentedReduce of one length", [=](void *t, size_t &b, const void *x, const void *, void *o) {
                  return cub::DeviceSegmentedReduce::Reduce(t, b, in<T>(x), out<Out>(o), segments, one, cuda::std::plus<A>{}, A(0), queue);
                }}};
  if constexpr (is_small_float<T>) {
    ways.push_back({"DeviceSegmentedReduce of one length, 16-bit sums", [=](void *t, size_t &b, const void *x, const void *, void *o) {
                      return cub::DeviceSegmentedReduce::Sum(t, b, in<T>(x), out<Out>(o), segments, one, queue);
                    }});
  }
  return ways;
#else
  auto offsets = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), MultiplyBy{length});
  return {{"DeviceSegmentedReduce", [=](void *t, size_t &b, const void *x, const void *, void *o) {
             return cub::DeviceSegmentedReduce::Reduce(t, b, in<T>(x), out<Out>(o), segments, offsets, offsets + 1,
                                                       cuda::std::plus<A>{}, A(0), queue);
           }}};
#endif
}

template <class T>
Ways scans(const Case &c) {
  using A = Accumulator<T>;
  const long long n = c.inputs[0].elements(), length = c.fold_length();
  if (c.dims != std::vector<int>{1}) return {};
  if (length == n) {
    return {{"DeviceScan", [=](void *t, size_t &b, const void *x, const void *, void *o) {
               return cub::DeviceScan::InclusiveScan(t, b, in<T>(x), out<T>(o), Plus<A>{}, n, queue);
             }}};
  }
  auto keys = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), DivideBy{length});
  return {{"DeviceScan by key", [=](void *t, size_t &b, const void *x, const void *, void *o) {
             return cub::DeviceScan::InclusiveScanByKey(t, b, keys, in<T>(x), out<T>(o), Plus<A>{}, n, cuda::std::equal_to<>{}, queue);
           }}};
}

template <class T>
Ways additions(const Case &c) {
  const long long n = c.inputs[0].elements();
  if (c.inputs[0].shape != c.inputs[1].shape || c.inputs[0].strides != c.inputs[1].strides) return {};
  if (c.inputs[1].span != n || c.into.span != n) return {};
  return {{"DeviceTransform", [=](void *t, size_t &b, const void *x, const void *y, void *o) {
             if (!t) return b = 1, cudaSuccess;
             return cub::DeviceTransform::Transform(cuda::std::make_tuple(in<T>(x), in<T>(y)), out<T>(o), n, Add<T>{}, queue);
           }}};
}

const struct {
  const char *dtype, *out, *expr;
  Ways (*of)(const Case &c);
} table[] = {
    {"f16", "f16", "sum(a)", sums<__half, __half>},
    {"bf16", "bf16", "sum(a)", sums<__nv_bfloat16, __nv_bfloat16>},
    {"f32", "f32", "sum(a)", sums<float, float>},
    {"f64", "f64", "sum(a)", sums<double, double>},
    {"i32", "i64", "sum(a)", sums<int, long long>},
    {"i8", "i64", "sum(a)", sums<signed char, long long>},
    {"f16", "f16", "cumsum(a)", scans<__half>},
    {"bf16", "bf16", "cumsum(a)", scans<__nv_bfloat16>},
    {"f32", "f32", "cumsum(a)", scans<float>},
    {"f64", "f64", "cumsum(a)", scans<double>},
    {"i32", "i32", "cumsum(a)", scans<int>},
    {"f16", "f16", "a+b", additions<__half>},
    {"bf16", "bf16", "a+b", additions<__nv_bfloat16>},
    {"f32", "f32", "a+b", additions<float>},
    {"f64", "f64", "a+b", additions<double>},
    {"i32", "i32", "a+b", additions<int>},
};

Ways ways_of(const Case &c) {
  for (const auto &row : table) {
    if (c.dtype == row.dtype && c.out == row.out && c.expr == row.expr) return row.of(c);
  }
  return {};
}

}  // namespace

int main(int argc, char **argv) {
  const std::string version = std::to_string(CUB_VERSION / 100000) + "." + std::to_string(CUB_VERSION / 100 % 1000);
#ifdef TCU_CCCL
  return peer::run(argc, argv, "cub " + version, version, ways_of);
#else
  return peer::run(argc, argv, "cub", version, ways_of);
#endif
}
