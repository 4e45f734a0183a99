// Stands for generated source: a shared object with one kernel, found by name.
#include <cuda_runtime.h>

struct ModuleParams {
  float *data;
  float factor;
};

extern "C" __global__ void scale(const __grid_constant__ ModuleParams p) {
  TCU_SHARED(float, staged, 64);
  staged[threadIdx.x] = p.data[threadIdx.x];
  __syncthreads();
  p.data[threadIdx.x] = staged[63 - threadIdx.x] * p.factor;
}
TCU_EXPORT_KERNEL(scale);
