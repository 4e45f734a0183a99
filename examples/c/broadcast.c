/* y = tanh(x * w + b) in one pass over memory: x is (rows, columns), w (rows), b (1, columns); both are broadcast. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tcuops.h"

static void check(tcu_status_t status) {
  if (status == TCU_OK) return;
  fprintf(stderr, "%s: %s\n", tcu_status_name(status), tcu_last_error());
  exit(1);
}

static void *upload(tcu_context_t context, const float *values, size_t n) {
  void *data;
  check(tcu_malloc(context, &data, n * sizeof *values, NULL));
  check(tcu_copy(context, data, values, n * sizeof *values, NULL));
  return data;
}

int main(void) {
  enum { ROWS = 1000, COLUMNS = 37 };
  static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
  float w[ROWS], b[COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; ++i) x[i] = (float)(i % 17) / 8 - 1;
  for (int i = 0; i < ROWS; ++i) w[i] = (float)(i % 5) / 4;
  for (int j = 0; j < COLUMNS; ++j) b[j] = (float)j / COLUMNS;

  tcu_context_t context;
  check(tcu_context_create(&context, NULL, 0));
  const int64_t full[] = {ROWS, COLUMNS}, row[] = {1, COLUMNS};
  const tcu_tensor_t inputs[] = {
      {upload(context, x, ROWS * COLUMNS), full, NULL, TCU_FLOAT32, 2},
      {upload(context, w, ROWS), full, NULL, TCU_FLOAT32, 1}, /* rank 1: broadcast along mode 1 */
      {upload(context, b, COLUMNS), row, NULL, TCU_FLOAT32, 2},
  };
  void *y_data;
  check(tcu_malloc(context, &y_data, sizeof y, NULL));
  const tcu_tensor_t out = {y_data, full, NULL, TCU_FLOAT32, 2};

  /* The expression in postfix. */
  const tcu_node_t nodes[] = {
      {TCU_NODE_INPUT, 0, 0, 0, {0}},       {TCU_NODE_INPUT, 1, 0, 0, {0}},       {TCU_NODE_OP, TCU_OP_MUL, 0, 0, {0}},
      {TCU_NODE_INPUT, 2, 0, 0, {0}},       {TCU_NODE_OP, TCU_OP_ADD, 0, 0, {0}}, {TCU_NODE_OP, TCU_OP_TANH, 0, 0, {0}},
  };
  tcu_expr_t expr;
  check(tcu_expr_create(&expr, nodes, sizeof nodes / sizeof *nodes));
  check(tcu_map(context, &out, expr, 3, inputs, NULL));
  check(tcu_copy(context, y, y_data, sizeof y, NULL));

  double worst = 0;
  for (int j = 0; j < COLUMNS; ++j)
    for (int i = 0; i < ROWS; ++i) {
      const double expected = tanh((double)x[i + ROWS * j] * w[i] + b[j]);
      const double error = fabs(y[i + ROWS * j] - expected);
      if (!(error <= worst)) worst = error;
    }
  printf("y is (%d, %d); y[0] = %g; largest error %.2g\n", ROWS, COLUMNS, (double)y[0], worst);

  check(tcu_expr_destroy(expr));
  for (int i = 0; i < 3; ++i) check(tcu_free(context, inputs[i].data, NULL));
  check(tcu_free(context, y_data, NULL));
  check(tcu_context_destroy(context));
  return !(worst < 1e-5);
}
