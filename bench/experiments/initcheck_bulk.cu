// What compute-sanitizer's initcheck makes of a bulk copy: nvcc -arch=sm_90 -o bulk initcheck_bulk.cu, then
// compute-sanitizer --tool initcheck ./bulk (stores by threads: 0 errors) and ./bulk x (the same by cp.async.bulk: 3968, a read of each
// word but a few that the machine has written and the tool has not seen). CUDA 13.0, H100, 2026-11-26.
#include <cstdio>
__global__ void write(int *to, int n, bool bulk) {
  __shared__ __align__(128) int x[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) x[i] = i;
  if (bulk) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(to + blockIdx.x * 256), "r"((unsigned)__cvta_generic_to_shared(x)) : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
  } else {
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) to[blockIdx.x * 256 + i] = x[i];
  }
}
__global__ void read(const int *from, int *sum) { atomicAdd(sum, from[blockIdx.x * 256 + threadIdx.x]); }
int main(int argc, char **) {
  int *a, *s, h = 0;
  cudaMalloc(&a, 16 * 1024); cudaMalloc(&s, 4); cudaMemset(s, 0, 4);
  write<<<16, 128>>>(a, 4096, argc > 1); read<<<16, 256>>>(a, s);
  cudaMemcpy(&h, s, 4, cudaMemcpyDeviceToHost);
  printf("%s: %d, expected %d\n", argc > 1 ? "bulk" : "plain", h, 16 * 255 * 128);
}
