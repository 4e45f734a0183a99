/* Sums a (4, 3, 2) tensor over modes 0 and 2, on the GPU if there is one and on the CPU if not. */
#include <stdio.h>
#include <stdlib.h>

#include "tcuops.h"

static void check(tcu_status_t status) {
  if (status == TCU_OK) return;
  fprintf(stderr, "%s: %s\n", tcu_status_name(status), tcu_last_error());
  exit(1);
}

int main(void) {
  enum { M = 4, N = 3, K = 2 };
  float x[M * N * K], sums[N];
  for (int i = 0; i < M * N * K; ++i) x[i] = (float)i;

  tcu_context_t context;
  check(tcu_context_create(&context, NULL, 0));
  printf("backend: %s\n", tcu_context_backend(context));

  void *x_data, *sums_data;
  check(tcu_malloc(context, &x_data, sizeof x, NULL));
  check(tcu_malloc(context, &sums_data, sizeof sums, NULL));
  check(tcu_copy(context, x_data, x, sizeof x, NULL));

  /* Mode 0 is the fastest. The output has extent 1 in the modes that are reduced. */
  const int64_t x_extents[] = {M, N, K}, sums_extents[] = {1, N, 1};
  const int32_t dims[] = {0, 2};
  const tcu_tensor_t x_tensor = {x_data, x_extents, NULL, TCU_FLOAT32, 3};
  const tcu_tensor_t sums_tensor = {sums_data, sums_extents, NULL, TCU_FLOAT32, 3};
  check(tcu_reduce(context, &sums_tensor, TCU_REDUCE_SUM, NULL, 1, &x_tensor, 2, dims, NULL));
  check(tcu_copy(context, sums, sums_data, sizeof sums, NULL));

  int wrong = 0;
  for (int n = 0; n < N; ++n) {
    float expected = 0;
    for (int k = 0; k < K; ++k)
      for (int m = 0; m < M; ++m) expected += x[m + M * (n + N * k)];
    printf("sum over (:, %d, :) = %g\n", n, (double)sums[n]);
    wrong |= sums[n] != expected;
  }

  check(tcu_free(context, x_data, NULL));
  check(tcu_free(context, sums_data, NULL));
  check(tcu_context_destroy(context));
  return wrong;
}
