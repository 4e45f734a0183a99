/* tcu_first [cpu|cuda]: the shortest way from nothing to a sum of 2^20 float32; prints it. bench/first.py times the process. */
#include <stdio.h>
#include <stdlib.h>

#include "capi/tcuops.h"

static void must(tcu_status_t status) {
  if (status == TCU_OK) return;
  fprintf(stderr, "tcu_first: %s: %s\n", tcu_status_name(status), tcu_last_error());
  exit(1);
}

int main(int argc, char **argv) {
  const int64_t n = 1 << 20, one = 1;
  const int32_t dim = 0;
  float *x = malloc((size_t)n * sizeof *x), sum = 0;
  if (!x) return 1;
  for (int64_t i = 0; i < n; ++i) x[i] = 1;
  tcu_context_t context;
  void *data, *out;
  must(tcu_context_create(&context, argc > 1 ? argv[1] : NULL, 0));
  must(tcu_malloc(context, &data, (size_t)n * sizeof *x, NULL));
  must(tcu_malloc(context, &out, sizeof sum, NULL));
  must(tcu_copy(context, data, x, (size_t)n * sizeof *x, NULL));
  const tcu_tensor_t in = {data, &n, NULL, TCU_FLOAT32, 1}, result = {out, &one, NULL, TCU_FLOAT32, 1};
  must(tcu_reduce(context, &result, TCU_REDUCE_SUM, NULL, 1, &in, 1, &dim, NULL));
  must(tcu_copy(context, &sum, out, sizeof sum, NULL));
  printf("%.0f\n", (double)sum);
  fflush(stdout);
  must(tcu_free(context, data, NULL));
  must(tcu_free(context, out, NULL));
  must(tcu_context_destroy(context));
  free(x);
  return sum != (float)n;
}
