#include <cstdint>

#include "core/error.h"
#include "cuda/cuda_error.h"
#include "cuda/function.h"

namespace tcu::cuda {

void launch(const Function &f, const LaunchConfig &config, const void *params, void *stream) {
  if (config.grid < 1 || config.grid > INT32_MAX)
    fail(Code::internal, "a launch of %lld blocks", (long long)config.grid);
  const OnDevice guard(f.ordinal);
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(unsigned(config.grid));
  launch.blockDim = dim3(unsigned(config.block));
  launch.dynamicSmemBytes = size_t(config.shared_bytes);
  launch.stream = static_cast<cudaStream_t>(stream);
  cudaLaunchAttribute attributes[2] = {};
  launch.attrs = attributes;
  if (f.in_turn) {  // it may overlap with the end of the kernel before it
    cudaLaunchAttribute &overlap = attributes[launch.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  if (config.cluster > 1) {
    cudaLaunchAttribute &cluster = attributes[launch.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {unsigned(config.cluster), 1, 1};
  }
  void *arguments[] = {const_cast<void *>(params)};
  check(cudaLaunchKernelExC(&launch, f.handle, arguments), "launching a kernel");
}

}  // namespace tcu::cuda
