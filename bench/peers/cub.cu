// tcu_peer_cub: CUB of the installed CCCL on the cases that it has an algorithm for:
//   full sums and maxima           DeviceReduce
//   sums over the leading dims     DeviceSegmentedReduce, offsets computed, not stored
//   1-D inclusive sums             DeviceScan
//   inclusive sums along dim 1     DeviceScan::InclusiveSumByKey, keys computed
//   a+b of equal shapes            DeviceTransform
// 16-bit floats accumulate in float32, as ours do. Arguments and output as tcu_bench's; timing as tcu_bench's (runner/measure.h).
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/cub.cuh>
#include <cuda/std/functional>
#include <type_traits>

#include "cuda_peer.cuh"

namespace {

using peer::Algorithm, peer::Case, peer::queue;

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
      return cub::DeviceReduce::Reduce(t, b, in(x), out(o), n, cuda::std::plus<A>{}, A(0), queue);
    };
  }
  if (c.expr == "sum(a)" && leading && c.out == c.dtype) {
    *kernel = "DeviceSegmentedReduce";
    auto offsets = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), MultiplyBy{length});
    return [=](void *t, size_t &b, const void *x, const void *, void *o) {
      return cub::DeviceSegmentedReduce::Reduce(t, b, in(x), out(o), segments, offsets, offsets + 1,
                                                cuda::std::plus<A>{}, A(0), queue);
    };
  }
  if (c.expr == "cumsum(a)" && c.out == c.dtype && c.dims == std::vector<int>{1}) {
    if (segments == 1) {
      *kernel = "DeviceScan";
      return [=](void *t, size_t &b, const void *x, const void *, void *o) {
        return cub::DeviceScan::InclusiveScan(t, b, in(x), out(o), Plus<A>{}, n, queue);
      };
    }
    *kernel = "DeviceScan by key";
    auto keys = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), DivideBy{length});
    return [=](void *t, size_t &b, const void *x, const void *, void *o) {
      return cub::DeviceScan::InclusiveScanByKey(t, b, keys, in(x), out(o), Plus<A>{}, n, cuda::std::equal_to<>{}, queue);
    };
  }
  if (c.expr == "a+b" && c.inputs[0].shape == c.inputs[1].shape && c.inputs[0].strides == c.inputs[1].strides && c.inputs[1].span == n && c.into.span == n) {
    *kernel = "DeviceTransform";
    return [=](void *t, size_t &b, const void *x, const void *y, void *o) {
      if (!t) return b = 1, cudaSuccess;
      return cub::DeviceTransform::Transform(cuda::std::make_tuple(in(x), in(y)), out(o), n, Add<T>{}, queue);
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

}  // namespace

int main(int argc, char **argv) {
  const std::string version = std::to_string(CUB_VERSION / 100000) + "." + std::to_string(CUB_VERSION / 100 % 1000);
  return peer::run(argc, argv, "cub", version, algorithm_of);
}
