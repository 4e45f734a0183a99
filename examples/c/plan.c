/* The gradient of a bias, accumulated over batches: gradient += sum of the batch over its columns. The plan is made once
 * and executed for every batch; beta = 1 adds to the output without a temporary, and the workspace is the caller's. */
#include <stdio.h>
#include <stdlib.h>

#include "tcuops.h"

static void check(tcu_status_t status) {
  if (status == TCU_OK) return;
  fprintf(stderr, "%s: %s\n", tcu_status_name(status), tcu_last_error());
  exit(1);
}

int main(void) {
  enum { CHANNELS = 96, SAMPLES = 64, BATCHES = 5 };
  static float batch[CHANNELS * SAMPLES];
  float gradient[CHANNELS] = {0}, expected[CHANNELS] = {0};

  tcu_context_t context;
  check(tcu_context_create(&context, NULL, 0));
  void *batch_data, *gradient_data;
  check(tcu_malloc(context, &batch_data, sizeof batch, NULL));
  check(tcu_malloc(context, &gradient_data, sizeof gradient, NULL));
  check(tcu_copy(context, gradient_data, gradient, sizeof gradient, NULL));

  const int64_t batch_extents[] = {CHANNELS, SAMPLES}, gradient_extents[] = {CHANNELS, 1};
  const tcu_tensor_t in = {batch_data, batch_extents, NULL, TCU_FLOAT32, 2};
  const tcu_tensor_t out = {gradient_data, gradient_extents, NULL, TCU_FLOAT32, 2};
  const int32_t dims[] = {1};
  const tcu_scalar_t one = {.f = 1};
  tcu_options_t options = TCU_OPTIONS_INIT;
  options.beta = &one;
  tcu_plan_t plan;
  check(tcu_plan_reduce(&plan, context, &out, TCU_REDUCE_SUM, NULL, 1, &in, 1, dims, &options));

  tcu_plan_info_t info = TCU_PLAN_INFO_INIT;
  check(tcu_plan_info(plan, &info));
  printf("kernel %s for %s; %lld bytes to move, %lld of workspace\n", info.kernel, info.modes, (long long)info.bytes,
         (long long)info.workspace_bytes);
  check(tcu_plan_workspace(plan, &options.workspace_bytes));
  check(tcu_malloc(context, &options.workspace, options.workspace_bytes, NULL));

  for (int b = 0; b < BATCHES; ++b) {
    for (int i = 0; i < CHANNELS * SAMPLES; ++i) {
      batch[i] = (float)((i + b) % 7);
      expected[i % CHANNELS] += batch[i];
    }
    check(tcu_copy(context, batch_data, batch, sizeof batch, NULL));
    const void *inputs[] = {batch_data};
    check(tcu_plan_execute(plan, gradient_data, 1, inputs, &options));
  }
  check(tcu_copy(context, gradient, gradient_data, sizeof gradient, NULL));

  int wrong = 0;
  for (int c = 0; c < CHANNELS; ++c) wrong += gradient[c] != expected[c];
  printf("gradient[0] = %g after %d batches; %d of %d wrong\n", (double)gradient[0], BATCHES, wrong, CHANNELS);

  check(tcu_plan_destroy(plan));
  check(tcu_free(context, options.workspace, NULL));
  check(tcu_free(context, batch_data, NULL));
  check(tcu_free(context, gradient_data, NULL));
  check(tcu_context_destroy(context));
  return wrong != 0;
}
