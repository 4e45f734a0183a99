/* tcu_first [cpu|cuda [sum|fused|parts]]: the shortest way from nothing to a result, which it prints; bench/first.py times the process.
 *   sum     of 2^20 float32
 *   fused   tanh(x .* w .+ b) with x (1024,1024), a function that the library does not bring along: its last element
 *   parts   the same in a process that has done a sum; then what calls cost their thread, a line each: a name and microseconds
 *             call   the first of that function: off its tape, if it has to be compiled
 *             ready  from there until it is compiled
 *             next, next_ready                         the same of another: what opening a compiler takes is gone
 *             size   a known function, another size    again   a known call: its plan is there */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capi/tcuops.h"

enum { N = 1024, CALLS = 33 };

static void must(tcu_status_t status) {
  if (status == TCU_OK) return;
  fprintf(stderr, "tcu_first: %s: %s\n", tcu_status_name(status), tcu_last_error());
  exit(1);
}

static void *filled(tcu_context_t context, size_t n, float value) {
  void *data;
  float *x = malloc(n * sizeof *x);
  if (!x) exit(1);
  for (size_t i = 0; i < n; ++i) x[i] = value;
  must(tcu_malloc(context, &data, n * sizeof *x, NULL));
  must(tcu_copy(context, data, x, n * sizeof *x, NULL));
  free(x);
  return data;
}

static float sum_of(tcu_context_t context) {
  const int64_t n = N * N, one = 1;
  const int32_t dim = 0;
  float sum = 0;
  void *data = filled(context, N * N, 1), *out = filled(context, 1, 0);
  const tcu_tensor_t in = {data, &n, NULL, TCU_FLOAT32, 1}, result = {out, &one, NULL, TCU_FLOAT32, 1};
  must(tcu_reduce(context, &result, TCU_REDUCE_SUM, NULL, 1, &in, 1, &dim, NULL));
  must(tcu_copy(context, &sum, out, sizeof sum, NULL));
  must(tcu_free(context, data, NULL));
  must(tcu_free(context, out, NULL));
  return sum;
}

/* y = f(x .* w .+ b) */
typedef struct {
  tcu_context_t context;
  void *y, *x, *w, *b;
} Operands;

static Operands operands(tcu_context_t context) {
  Operands o = {context, NULL, NULL, NULL, NULL};
  o.y = filled(context, N * N, 0), o.x = filled(context, N * N, 0.5f), o.w = filled(context, N, 1.5f), o.b = filled(context, N, 0.25f);
  return o;
}
static void release(const Operands *o) {
  void *const all[] = {o->y, o->x, o->w, o->b};
  for (int i = 0; i < 4; ++i) must(tcu_free(o->context, all[i], NULL));
}
static tcu_expr_t expression(tcu_op_t f) {
  const tcu_node_t nodes[] = {{TCU_NODE_INPUT, 0, 0, 0, {0}},       {TCU_NODE_INPUT, 1, 0, 0, {0}},
                              {TCU_NODE_OP, TCU_OP_MUL, 0, 0, {0}}, {TCU_NODE_INPUT, 2, 0, 0, {0}},
                              {TCU_NODE_OP, TCU_OP_ADD, 0, 0, {0}}, {TCU_NODE_OP, f, 0, 0, {0}}};
  tcu_expr_t made;
  must(tcu_expr_create(&made, nodes, sizeof nodes / sizeof *nodes));
  return made;
}
/* plan: null to call it, else where to put the plan of it. */
static void apply(const Operands *o, tcu_expr_t f, int64_t columns, tcu_plan_t *plan) {
  const int64_t extents[] = {N, columns};
  const tcu_tensor_t y = {o->y, extents, NULL, TCU_FLOAT32, 2};
  const tcu_tensor_t in[] = {
      {o->x, extents, NULL, TCU_FLOAT32, 2}, {o->w, extents, NULL, TCU_FLOAT32, 1}, {o->b, extents, NULL, TCU_FLOAT32, 1}};
  must(plan ? tcu_plan_map(plan, o->context, &y, f, 3, in, NULL) : tcu_map(o->context, &y, f, 3, in, NULL));
}
static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}
/* How long the call keeps its thread; nothing is queued before it. */
static double apply_us(const Operands *o, tcu_expr_t f, int64_t columns) {
  must(tcu_synchronize(o->context, NULL));
  const double from = now_us();
  apply(o, f, columns, NULL);
  return now_us() - from;
}
/* The first call, and how long it is from there until a plan, which waits for the compiler, can be had. */
static void first_us(const Operands *o, tcu_expr_t f, double *call, double *ready) {
  tcu_plan_t plan;
  const double from = now_us();
  *call = apply_us(o, f, N);
  apply(o, f, N, &plan);
  *ready = now_us() - from;
  must(tcu_plan_destroy(plan));
}
static void print_last(const Operands *o) {
  float last = 0;
  must(tcu_copy(o->context, &last, (float *)o->y + N * N - 1, sizeof last, NULL));
  printf("%.4f\n", (double)last);
  fflush(stdout);
}
static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void sum(tcu_context_t context) {
  printf("%.0f\n", (double)sum_of(context));
  fflush(stdout);
}
static void fused(tcu_context_t context) {
  const Operands o = operands(context);
  tcu_expr_t f = expression(TCU_OP_TANH);
  apply(&o, f, N, NULL);
  print_last(&o);
  tcu_expr_destroy(f);
  release(&o);
}
static void parts(tcu_context_t context) {
  sum_of(context);
  const Operands o = operands(context);
  tcu_expr_t f = expression(TCU_OP_TANH), next = expression(TCU_OP_SIGMOID);
  double call_us, ready_us, next_us, next_ready_us;
  first_us(&o, f, &call_us, &ready_us);
  print_last(&o);
  first_us(&o, next, &next_us, &next_ready_us);
  printf("call %.3f\nready %.3f\nnext %.3f\nnext_ready %.3f\n", call_us, ready_us, next_us, next_ready_us);
  double size_us[CALLS], again_us[CALLS];
  for (int i = 0; i < CALLS; ++i) size_us[i] = apply_us(&o, f, N - 1 - i), again_us[i] = apply_us(&o, f, N);
  qsort(size_us, CALLS, sizeof *size_us, ascending);
  qsort(again_us, CALLS, sizeof *again_us, ascending);
  printf("size %.3f\nagain %.3f\n", size_us[CALLS / 2], again_us[CALLS / 2]);
  tcu_expr_destroy(f), tcu_expr_destroy(next);
  release(&o);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(tcu_context_t);
  } tasks[] = {{"sum", sum}, {"fused", fused}, {"parts", parts}};
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; ++i) {
    if (strcmp(argc > 2 ? argv[2] : "sum", tasks[i].name) != 0) continue;
    tcu_context_t context;
    must(tcu_context_create(&context, argc > 1 ? argv[1] : NULL, 0));
    tasks[i].run(context);
    must(tcu_context_destroy(context));
    return 0;
  }
  fprintf(stderr, "usage: tcu_first [cpu|cuda [sum|fused|parts]]\n");
  return 2;
}
