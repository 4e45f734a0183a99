/* tcuops.h - broadcasting, reduction and scan over strided tensors of any rank, on the CPU and on NVIDIA GPUs.
 *
 * The only public header of libtcuops.so. C99; needs no CUDA header.
 *
 * Contents, from simple to expert
 *   1. Status, dtypes, tensors          5. Memory, streams, events, devices
 *   2. Contexts                         6. Plans
 *   3. Expressions                      7. Introspection
 *   4. map, reduce, scan, matmul        8. Versions
 *
 * Conventions
 *   - Mode 0 is the fastest in a dense tensor (column-major, as in Julia and Fortran). A row-major caller lists its modes
 *     in reverse, or passes strides: every stride is an int64 count of ELEMENTS, and may be zero or negative.
 *   - Every function returns a tcu_status_t. On failure tcu_last_error() tells, in one line, which argument was wrong and
 *     what to do; nothing has been written and nothing was launched.
 *   - Work on a cuda context is asynchronous: it is ordered by its stream. Nothing in sections 4 and 6 synchronizes, reads
 *     back or calls cudaMalloc, and all of it may be recorded into a CUDA graph. (The first call of a problem with
 *     TCU_KERNEL_MEASURED waits for what it measures, on a stream of its own.) Work on a cpu context is done when the
 *     call returns; its stream argument is ignored.
 *   - Thread safety: any thread may call any function at any time, except that a handle must not be destroyed while
 *     another thread uses it. The last error is kept per thread.
 */
#ifndef TCUOPS_H
#define TCUOPS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TCU_API __attribute__((visibility("default")))
#else
#define TCU_API
#endif

/* ------------------------------------------------------------------------------------- 1. status, dtypes, tensors */

typedef int32_t tcu_status_t;
enum {
  TCU_OK = 0,
  TCU_ERROR_NULL = 1,            /* a pointer or handle that must not be null is */
  TCU_ERROR_DTYPE = 2,           /* unknown dtype, or one that the operation is not defined on */
  TCU_ERROR_OP = 3,              /* unknown op */
  TCU_ERROR_EXPR = 4,            /* an expression that is malformed, or names an input or scalar that is not there */
  TCU_ERROR_RANK = 5,            /* rank outside 0..TCU_MAX_RANK */
  TCU_ERROR_EXTENT = 6,          /* an extent below zero */
  TCU_ERROR_OVERFLOW = 7,        /* extents x strides pass what an int64 can address */
  TCU_ERROR_SHAPE = 8,           /* extents that do not fit each other */
  TCU_ERROR_ALIAS = 9,           /* an output that overlaps itself: a zero stride, or strides that meet */
  TCU_ERROR_OVERLAP = 10,        /* an output that overlaps an input with another layout */
  TCU_ERROR_DIM = 11,            /* a dim that is out of range or named twice */
  TCU_ERROR_REDUCED_MODE = 12,   /* a reduced mode whose extent in the output is not 1 */
  TCU_ERROR_EMPTY = 13,          /* max, min or an arg-reduction over no elements */
  TCU_ERROR_STRUCT_SIZE = 14,    /* an option struct that was not initialised by its _INIT macro */
  TCU_ERROR_OPTION = 15,         /* an option value that is not one of its kind */
  TCU_ERROR_KERNEL = 16,         /* a pinned kernel that is unknown or does not accept the problem */
  TCU_ERROR_WORKSPACE = 17,      /* less workspace than the plan needs */
  TCU_ERROR_ALIGNMENT = 18,      /* a pointer less aligned than the plan, or than its element, asks */
  TCU_ERROR_DEVICE = 19,         /* no such device, or a backend that this machine does not have */
  TCU_ERROR_OUT_OF_MEMORY = 20,
  TCU_ERROR_UNSUPPORTED = 21,    /* legal, but not offered by this backend; the message says what is */
  TCU_ERROR_LIBRARY = 22,        /* NVRTC, cuBLAS or a BLAS is needed and could not be opened */
  TCU_ERROR_CUDA = 23,           /* the CUDA runtime reported an error; its text is in the message */
  TCU_ERROR_INTERNAL = 24        /* a bug in this library: please report it with the message */
};

/* The calling thread's last error, or "" if its last call succeeded. Valid until the thread's next call. */
TCU_API const char *tcu_last_error(void);
/* The name of a status, e.g. "TCU_ERROR_SHAPE"; "unknown status" for anything else. Never null. */
TCU_API const char *tcu_status_name(tcu_status_t status);

/* Generated from lib/core/dtypes.def, ops.def and reduce_ops.def by tools/generate.cpp; values never change. */
/* <generated> */
enum {
  TCU_BOOL        = 1,
  TCU_INT8        = 2,
  TCU_INT16       = 3,
  TCU_INT32       = 4,
  TCU_INT64       = 5,
  TCU_UINT8       = 6,
  TCU_UINT16      = 7,
  TCU_UINT32      = 8,
  TCU_UINT64      = 9,
  TCU_FLOAT16     = 10,
  TCU_BFLOAT16    = 11,
  TCU_FLOAT32     = 12,
  TCU_FLOAT64     = 13,
  TCU_COMPLEX64   = 14,
  TCU_COMPLEX128  = 15,
  TCU_FLOAT8_E4M3 = 16,
  TCU_FLOAT8_E5M2 = 17
};
enum {
  TCU_OP_IDENTITY         = 1,
  TCU_OP_NEG              = 2,
  TCU_OP_ABS              = 3,
  TCU_OP_ABS2             = 4,
  TCU_OP_SIGN             = 5,
  TCU_OP_INV              = 6,
  TCU_OP_SQRT             = 7,
  TCU_OP_RSQRT            = 8,
  TCU_OP_CBRT             = 9,
  TCU_OP_DEG2RAD          = 10,
  TCU_OP_RAD2DEG          = 11,
  TCU_OP_EXP              = 20,
  TCU_OP_EXP2             = 21,
  TCU_OP_EXP10            = 22,
  TCU_OP_EXPM1            = 23,
  TCU_OP_LOG              = 24,
  TCU_OP_LOG2             = 25,
  TCU_OP_LOG10            = 26,
  TCU_OP_LOG1P            = 27,
  TCU_OP_SIN              = 40,
  TCU_OP_COS              = 41,
  TCU_OP_TAN              = 42,
  TCU_OP_ASIN             = 43,
  TCU_OP_ACOS             = 44,
  TCU_OP_ATAN             = 45,
  TCU_OP_SINH             = 46,
  TCU_OP_COSH             = 47,
  TCU_OP_TANH             = 48,
  TCU_OP_ASINH            = 49,
  TCU_OP_ACOSH            = 50,
  TCU_OP_ATANH            = 51,
  TCU_OP_SINPI            = 52,
  TCU_OP_COSPI            = 53,
  TCU_OP_ERF              = 70,
  TCU_OP_ERFC             = 71,
  TCU_OP_GAMMA            = 72,
  TCU_OP_LGAMMA           = 73,
  TCU_OP_FLOOR            = 80,
  TCU_OP_CEIL             = 81,
  TCU_OP_ROUND            = 82,
  TCU_OP_TRUNC            = 83,
  TCU_OP_RELU             = 90,
  TCU_OP_RELU6            = 91,
  TCU_OP_SIGMOID          = 92,
  TCU_OP_HARDSIGMOID      = 93,
  TCU_OP_LOGSIGMOID       = 94,
  TCU_OP_SOFTPLUS         = 95,
  TCU_OP_SOFTSIGN         = 96,
  TCU_OP_ELU              = 97,
  TCU_OP_SELU             = 98,
  TCU_OP_GELU             = 99,
  TCU_OP_GELU_TANH        = 100,
  TCU_OP_SILU             = 101,
  TCU_OP_MISH             = 102,
  TCU_OP_HARDSWISH        = 103,
  TCU_OP_ISNAN            = 130,
  TCU_OP_ISINF            = 131,
  TCU_OP_ISFINITE         = 132,
  TCU_OP_SIGNBIT          = 133,
  TCU_OP_LOGICAL_NOT      = 134,
  TCU_OP_BIT_NOT          = 135,
  TCU_OP_REAL             = 150,
  TCU_OP_IMAG             = 151,
  TCU_OP_CONJ             = 152,
  TCU_OP_ARG              = 153,
  TCU_OP_ADD              = 200,
  TCU_OP_SUB              = 201,
  TCU_OP_MUL              = 202,
  TCU_OP_DIV              = 203,
  TCU_OP_POW              = 204,
  TCU_OP_IDIV             = 205,
  TCU_OP_REM              = 206,
  TCU_OP_MOD              = 207,
  TCU_OP_MAX              = 208,
  TCU_OP_MIN              = 209,
  TCU_OP_HYPOT            = 210,
  TCU_OP_ATAN2            = 211,
  TCU_OP_COPYSIGN         = 212,
  TCU_OP_XLOGY            = 213,
  TCU_OP_LOGADDEXP        = 214,
  TCU_OP_SQDIFF           = 215,
  TCU_OP_LEAKY_RELU       = 216,
  TCU_OP_EQ               = 240,
  TCU_OP_NE               = 241,
  TCU_OP_LT               = 242,
  TCU_OP_LE               = 243,
  TCU_OP_GT               = 244,
  TCU_OP_GE               = 245,
  TCU_OP_LOGICAL_AND      = 250,
  TCU_OP_LOGICAL_OR       = 251,
  TCU_OP_LOGICAL_XOR      = 252,
  TCU_OP_BIT_AND          = 260,
  TCU_OP_BIT_OR           = 261,
  TCU_OP_BIT_XOR          = 262,
  TCU_OP_SHL              = 263,
  TCU_OP_SHR              = 264,
  TCU_OP_RELU_GRAD        = 300,
  TCU_OP_RELU6_GRAD       = 301,
  TCU_OP_SIGMOID_GRAD     = 302,
  TCU_OP_TANH_GRAD        = 303,
  TCU_OP_ELU_GRAD         = 304,
  TCU_OP_SELU_GRAD        = 305,
  TCU_OP_HARDSIGMOID_GRAD = 310,
  TCU_OP_LOGSIGMOID_GRAD  = 311,
  TCU_OP_SOFTPLUS_GRAD    = 312,
  TCU_OP_SOFTSIGN_GRAD    = 313,
  TCU_OP_GELU_GRAD        = 314,
  TCU_OP_GELU_TANH_GRAD   = 315,
  TCU_OP_SILU_GRAD        = 316,
  TCU_OP_MISH_GRAD        = 317,
  TCU_OP_HARDSWISH_GRAD   = 318,
  TCU_OP_FMA              = 400,
  TCU_OP_IFELSE           = 401,
  TCU_OP_CLAMP            = 402,
  TCU_OP_LERP             = 403,
  TCU_OP_LEAKY_RELU_GRAD  = 404
};
enum {
  TCU_REDUCE_SUM        = 1,
  TCU_REDUCE_PROD       = 2,
  TCU_REDUCE_MAX        = 3,
  TCU_REDUCE_MIN        = 4,
  TCU_REDUCE_ANY        = 5,
  TCU_REDUCE_ALL        = 6,
  TCU_REDUCE_COUNT      = 7,
  TCU_REDUCE_ARGMAX     = 8,
  TCU_REDUCE_ARGMIN     = 9,
  TCU_REDUCE_MEAN       = 10,
  TCU_REDUCE_VAR        = 11,
  TCU_REDUCE_STD        = 12,
  TCU_REDUCE_NORM       = 13,
  TCU_REDUCE_LOGSUMEXP  = 14,
  TCU_REDUCE_EXTREMA    = 15,
  TCU_REDUCE_SUMEXP     = 16,
  TCU_REDUCE_RECURRENCE = 17
};
/* </generated> */
typedef int32_t tcu_dtype_t;
typedef int32_t tcu_op_t;
typedef int32_t tcu_reduce_op_t;

#define TCU_MAX_RANK 64
#define TCU_MAX_INPUTS 16
#define TCU_MAX_EXPR_NODES 256
#define TCU_MAX_RESULTS 4 /* of a map */

/* A tensor: a pointer to the element with all indices zero, and how the others lie around it.
 * data     memory of the context's device. Aligned to the element. May be null when the tensor has no elements.
 * extents  rank numbers >= 0.
 * strides  rank numbers, in elements; null means dense with mode 0 fastest.
 * Frozen within a major version. */
typedef struct tcu_tensor_t {
  void *data;
  const int64_t *extents;
  const int64_t *strides;
  tcu_dtype_t dtype;
  int32_t rank;
} tcu_tensor_t;

/* A number passed by value. Which member is read follows from the dtype it stands for:
 * i for Bool and signed integers, u for unsigned, f for every float, c (re, im) for complex. */
typedef union tcu_scalar_t {
  int64_t i;
  uint64_t u;
  double f;
  double c[2];
} tcu_scalar_t;

/* ---------------------------------------------------------------------------------------------------- 2. contexts */

/* A device with its kernels, caches and workspace pool. Making one on cuda costs a driver start (about 0.2 s); make one
 * per device and keep it. Thread-safe. */
typedef struct tcu_context *tcu_context_t;

/* backend  "cpu", "cuda", or null for cuda where there is a GPU and cpu elsewhere.
 * device   the device's ordinal; 0 on the cpu.
 * Errors: NULL, DEVICE (no such backend or device here: the message says which there are). */
TCU_API tcu_status_t tcu_context_create(tcu_context_t *context, const char *backend, int32_t device);
/* Waits for the device, then frees everything the context owns, memory from tcu_malloc excepted. Plans must go first. */
TCU_API tcu_status_t tcu_context_destroy(tcu_context_t context);
/* "cpu" or "cuda"; null if the context is null. */
TCU_API const char *tcu_context_backend(tcu_context_t context);

/* ------------------------------------------------------------------------------------------------- 3. expressions */

/* An element-wise function of up to TCU_MAX_INPUTS inputs, in postfix: tanh(x*w + b) is
 *   {INPUT 0} {INPUT 1} {OP mul} {INPUT 2} {OP add} {OP tanh}
 * Types follow Julia's promotion rules; 8- and 16-bit floats are computed in float32 and rounded once, at the store (an explicit
 * CAST rounds where it stands). It leaves one value, or more: up to TCU_MAX_RESULTS for a map of so many results (tcu_map), two for some
 * scans (tcu_scan). What it names twice is computed once. Immutable, belongs to no context, may be used by any thread. */
typedef struct tcu_expr *tcu_expr_t;

enum {
  TCU_NODE_INPUT = 1,     /* index: which input */
  TCU_NODE_SCALAR = 2,    /* index: which of options.scalars; dtype: what it is. The value is given with every call */
  TCU_NODE_CONSTANT = 3,  /* dtype and value, fixed in the expression; passed by value, so it costs no compilation */
  TCU_NODE_OP = 4,        /* index: a tcu_op_t */
  TCU_NODE_CAST = 5       /* dtype: what to convert to */
};
typedef struct tcu_node_t {
  int32_t kind;
  int32_t index;
  tcu_dtype_t dtype;
  int32_t reserved; /* zero */
  tcu_scalar_t value;
} tcu_node_t;

/* Errors: NULL, OP, DTYPE, EXPR (stack runs empty, more than TCU_MAX_RESULTS values are left, too long: the message names the node). */
TCU_API tcu_status_t tcu_expr_create(tcu_expr_t *expr, const tcu_node_t *nodes, int32_t n_nodes);
TCU_API tcu_status_t tcu_expr_destroy(tcu_expr_t expr);
/* The dtype that expr has for inputs of the given dtypes; of several values that it leaves, the last one's. Errors: NULL, DTYPE, EXPR. */
TCU_API tcu_status_t tcu_expr_dtype(tcu_dtype_t *dtype, tcu_expr_t expr, int32_t n_inputs, const tcu_dtype_t *inputs);

/* ----------------------------------------------------------------------------------- 4. map, reduce, scan, matmul */

typedef int32_t tcu_determinism_t;
enum {
  TCU_RUN_TO_RUN = 0, /* the same bits on every run with the same device, driver and library */
  TCU_ANY_ORDER = 1   /* the order of a float sum may vary from run to run */
};
enum {
  TCU_SCAN_EXCLUSIVE = 1, /* element i is the fold of those before it; the first is the identity, or init */
  TCU_SCAN_REVERSE = 2,   /* runs from the last element to the first */
  TCU_SCAN_SEGMENTED = 4  /* the expression leaves two values: whether a segment begins with this element, and the element */
};

/* As options.kernel: the first call or plan of a problem times every kernel that takes it, on memory of its own (the operands' bytes again,
 * and those of the caches), and keeps the fastest: what the planner's rules choose, unless another is faster by more than 2 %. That compiles
 * what is not shipped (0.1 to 0.3 s a kernel), takes some milliseconds of the device, which should have nothing else to do, and waits for
 * them, though not for the caller's streams; a stream may be capturing. A plan keeps its kernel, one-shot calls as long as the context
 * remembers the problem (the 4096 that were last asked for): results then have the same bits, but another process may find another
 * kernel the fastest (docs/numerics.md). A segmented reduction's segments are not known to its plan: the rules choose.
 * Errors: OUT_OF_MEMORY, where there is no room for the operands a second time. */
#define TCU_KERNEL_MEASURED "measured"

/* Options of one call, or of a plan. Initialise with TCU_OPTIONS_INIT; a null pointer means all defaults. */
typedef struct tcu_options_t {
  size_t struct_size;
  void *stream;                  /* cudaStream_t; null is the default stream */
  const tcu_scalar_t *alpha;     /* out = alpha * result + beta * out; null is 1. Read as the accumulator's dtype */
  const tcu_scalar_t *beta;      /* null is 0, and then out is not read */
  const tcu_scalar_t *scalars;   /* values of the expression's SCALAR nodes */
  int32_t n_scalars;
  tcu_dtype_t accumulator;       /* 0: Julia's (sums of small integers in 64 bits, of 8- and 16-bit floats in float32) */
  tcu_determinism_t determinism;
  uint32_t scan_flags;           /* TCU_SCAN_* */
  const tcu_scalar_t *init;      /* scan: what the fold starts from; null is the identity. Read as the accumulator's */
  const char *kernel;            /* pin a kernel by its name, or TCU_KERNEL_MEASURED; null lets the planner choose by its rules */
  void *workspace;               /* execution: device scratch of at least the plan's size; null takes from the pool */
  size_t workspace_bytes;
  int32_t alignment;             /* plans: bytes that all pointers will be multiples of; 0 takes the tensors' pointers */
  int32_t reserved;              /* zero */
  const double *correction;      /* VAR, STD: divide by n - correction; null, or a struct that ends before it, is 1. Finite, >= 0 */
  const tcu_tensor_t *second;    /* map, reduce: where a second result goes; null, or a struct that ends before it: nowhere */
  int32_t n_second;              /* map: results that second points to, which are the second, third and fourth; 0 is 1 if second is given */
  int32_t reserved2;             /* zero */
} tcu_options_t;
#define TCU_OPTIONS_INIT { sizeof(tcu_options_t), NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, 0, 0 }

/* out[i...] = alpha * expr(inputs[0][i...], ...) + beta * out[i...]
 * Every input's extent in a mode is the output's, or 1, or its rank ends before: then it is broadcast along that mode.
 * out may be one of the inputs when both have the same layout. expr null means input 0 itself (copy, cast, fill).
 * Any dtypes; the result is converted to out's (float to integer: toward zero, saturating, NaN to 0; to a float: to nearest even, what
 * is too large to Inf, in FLOAT8_E4M3, which has none and ends at 448, to NaN).
 * Several results of one read, such as tanh(x) and its derivative: expr leaves up to TCU_MAX_RESULTS values; out gets the first, and
 * the options.n_second tensors at options.second the others, each converted to its dtype. Each has out's extents and strides (in
 * elements) and shares no byte with out, another or an input; they may lie in each other's gaps. alpha and beta apply to out alone. A
 * map of 3 results takes 15 inputs at most, of 4 results 14. expr null then means an input for each result, in order.
 * An expression of real numbers for which a function has yet to be compiled is run without one meanwhile, more slowly and to the same bits
 * ("broadcast.tape"; docs/c-api.md, "Expressions"), by default: TCUOPS_STAND_IN=off in the environment of tcu_context_create has calls wait.
 * Errors: everything of section 1 that a tensor can have wrong, EXPR, KERNEL, LIBRARY (NVRTC for a fused expression that waits for it). */
TCU_API tcu_status_t tcu_map(tcu_context_t context, const tcu_tensor_t *out, tcu_expr_t expr, int32_t n_inputs,
                             const tcu_tensor_t *inputs, const tcu_options_t *options);

/* out = alpha * fold(op, expr(inputs...) over dims) + beta * out
 * The space that is folded is the inputs' joint extents (each the same or 1). out has its rank, with extent 1 in each of
 * dims; trailing modes of extent 1 may be left away. dims: n_dims mode numbers from 0, in any order.
 * ANY, ALL count elements that are not zero as true. ARGMAX, ARGMIN: the position of the first best (the first NaN, if
 * there is one), counted from 0 over the reduced modes with the lowest mode fastest; out is then an integer.
 * MAX, MIN: NaN if there is one; max(-0.0, 0.0) is 0.0. Empty: the identity, or EMPTY for max, min and the arg-reductions.
 * The following accumulate in float64 for Bool and integers, in float32 for 8- and 16-bit floats, else in the element's own dtype, over n
 * elements in one pass; options.accumulator may be another float. alpha and beta apply to the result. They take no init.
 *   MEAN       sum / n, of real or complex elements. Empty: NaN.
 *   VAR, STD   the sum of squared distances from the mean / (n - correction), and its root, of real elements. n - correction below 0
 *              counts as 0, so that n <= correction gives NaN (0/0) where all elements are equal and infinity else. An element that
 *              is not finite, or distances whose squares overflow, give NaN or infinity. Empty: NaN. The state is a mean, relative
 *              to the first element, and a sum of squares, updated as in Welford (1962) and combined as in Chan, Golub and LeVeque
 *              (1983): no digits are lost where the mean is large against the deviation.
 *   NORM       the root of the sum of |x|^2, of real elements or (then real itself) complex ones. Squares may overflow or underflow
 *              the accumulator: with float32 elements beyond 1e19 or all below 1e-19 ask for float64 there. Empty: 0.
 *   LOGSUMEXP  log(sum(exp(x))), of real elements, by the maximum and the sum of exp(x - maximum): no exp overflows. -inf where all
 *              are -inf, inf where one is inf, NaN where one is NaN. Empty: -inf.
 *   SUMEXP     sum(exp(x - max(x))), of real elements: with the maximum, softmax's two numbers in one read. NaN where the maximum is
 *              not finite. Empty: 0.
 *   EXTREMA    the minimum; the maximum is its second result, which must be given. It accumulates as MIN and MAX do. Empty: EMPTY.
 * options.second gets a second result in the same pass: the element's value of ARGMAX and ARGMIN, the mean of VAR and STD, the maximum
 * of LOGSUMEXP, SUMEXP and EXTREMA. It has out's extents and strides (in elements) and any dtype, and shares no byte with out or an
 * input; two results may lie in each other's gaps. alpha and beta apply to out alone. Empty: EMPTY.
 * out must not overlap an input. Errors: as map, and DIM, REDUCED_MODE, EMPTY; NULL for EXTREMA without a second; OPTION for a second
 * of an op that has none. */
TCU_API tcu_status_t tcu_reduce(tcu_context_t context, const tcu_tensor_t *out, tcu_reduce_op_t op, tcu_expr_t expr,
                                int32_t n_inputs, const tcu_tensor_t *inputs, int32_t n_dims, const int32_t *dims,
                                const tcu_options_t *options);

/* out[.., s, ..] = alpha * fold(op, expr(inputs...)[.., offsets[s] .. offsets[s + 1] - 1, ..]) + beta * out, along dim: segments
 * of any length (CSR). offsets: a dense vector of int32 or int64 in the context's memory, one more than out has elements along
 * dim, not falling, between 0 and the inputs' extent there. That cannot be checked without waiting for the device: an offset
 * outside is taken as the nearest end, one that falls as the one before it. An empty segment gives the op's identity (-inf or
 * the lowest number for MAX; what reduce says of MEAN and those after it), and 0 for ARGMAX and ARGMIN, whose positions are counted
 * from the segment's start; a second result of it is the identity too, and NaN for a mean.
 * At most 15 inputs. Errors: as reduce, but for REDUCED_MODE and EMPTY. */
TCU_API tcu_status_t tcu_segmented_reduce(tcu_context_t context, const tcu_tensor_t *out, tcu_reduce_op_t op, tcu_expr_t expr,
                                          int32_t n_inputs, const tcu_tensor_t *inputs, int32_t dim,
                                          const tcu_tensor_t *offsets, const tcu_options_t *options);

/* out[.., i, ..] = alpha * fold(op, expr(inputs...)[.., 0..i, ..]) + beta * out, along dim. op: SUM, PROD, MAX, MIN, ANY, ALL, COUNT.
 * Shapes as in map. Accumulates in float32 or wider whatever the output.
 * Two kinds of scan take an expression that leaves two values (null: inputs 0 and 1), the second of which is the element x:
 *   SCAN_SEGMENTED       the first is a flag. Where it is not zero a segment begins, in the order of the scan (with SCAN_REVERSE: from the
 *                        last element to the first): what came before is forgotten, and the fold starts from init again. The first
 *                        element needs no flag. No segment's result depends on another's elements, NaN and Inf included.
 *   RECURRENCE           the first is a factor a: y[i] = a[i] * y[i - 1] + x[i], y[-1] = init (0). As in state-space models and gated
 *                        recurrent layers (Blelloch 1990, "Prefix Sums and Their Applications", 1.4.1). SCAN_EXCLUSIVE gives y[i - 1].
 *                        On cuda products of neighbouring factors are formed: where these overflow, though a step by step computation
 *                        would not, the result is NaN or infinite. It takes no SCAN_SEGMENTED: a factor 0 begins anew.
 * Errors: as map, and DIM, OP, OPTION. */
TCU_API tcu_status_t tcu_scan(tcu_context_t context, const tcu_tensor_t *out, tcu_reduce_op_t op, tcu_expr_t expr,
                              int32_t n_inputs, const tcu_tensor_t *inputs, int32_t dim, const tcu_options_t *options);

/* The same scan of every segment for itself, of any lengths (CSR): offsets as in tcu_segmented_reduce; a segment begins at each, and
 * elements before the first and from the last on are segments of their own. An offset outside 0 .. the extent begins nothing.
 * Two launches more than tcu_scan, and a byte of pool memory for each step along dim; there is no plan of it (TCU_SCAN_SEGMENTED has one).
 * At most 15 inputs, and 255 nodes of expr. op: not RECURRENCE. Errors: as scan. */
TCU_API tcu_status_t tcu_segmented_scan(tcu_context_t context, const tcu_tensor_t *out, tcu_reduce_op_t op, tcu_expr_t expr,
                                        int32_t n_inputs, const tcu_tensor_t *inputs, int32_t dim, const tcu_tensor_t *offsets,
                                        const tcu_options_t *options);

/* c = alpha * a * b + beta * c for matrices of one dtype (float16, bfloat16, float32, float64, complex; on the cpu the
 * last four): a is (m,k), b (k,n), c (m,n); of the two strides of each at least one must be 1. Calls cuBLAS, or the BLAS
 * of the machine: this library has no matrix product of its own. Errors: as map, and LIBRARY. */
TCU_API tcu_status_t tcu_matmul(tcu_context_t context, const tcu_tensor_t *c, const tcu_tensor_t *a,
                                const tcu_tensor_t *b, const tcu_options_t *options);

/* -------------------------------------------------------------------------- 5. memory, streams, events, devices */

/* Device memory, aligned to 256 bytes (cpu: 64); from a pool, ordered by stream, legal inside a graph capture.
 * Zero bytes give a null pointer. Errors: NULL, OUT_OF_MEMORY. */
TCU_API tcu_status_t tcu_malloc(tcu_context_t context, void **data, size_t bytes, void *stream);
/* The memory is reused once the work before this call in stream is done. Null is fine. */
TCU_API tcu_status_t tcu_free(tcu_context_t context, void *data, void *stream);
/* Either side may be host or device memory. Copies that touch the host's memory are done when the call returns. */
TCU_API tcu_status_t tcu_copy(tcu_context_t context, void *to, const void *from, size_t bytes, void *stream);
TCU_API tcu_status_t tcu_synchronize(tcu_context_t context, void *stream);

/* cpu: there is one, null, and nothing to destroy. Errors: NULL, CUDA. */
TCU_API tcu_status_t tcu_stream_create(tcu_context_t context, void **stream);
TCU_API tcu_status_t tcu_stream_destroy(tcu_context_t context, void *stream);
/* Events measure time on a stream: record two, synchronize, take the milliseconds between them. */
TCU_API tcu_status_t tcu_event_create(tcu_context_t context, void **event);
TCU_API tcu_status_t tcu_event_destroy(tcu_context_t context, void *event);
TCU_API tcu_status_t tcu_event_record(tcu_context_t context, void *event, void *stream);
TCU_API tcu_status_t tcu_event_elapsed(tcu_context_t context, float *milliseconds, void *from, void *to);

/* DLPack (version 0.8; the 8-bit floats as 1.1 numbers them: float8_e4m3fn, float8_e5m2), for tensors of other libraries and for
 * handing over ours. Mode i is DLPack's mode i.
 * from_dlpack: tensor looks at from's memory and at its shape, which must outlive it. strides: room for as many numbers as from
 * has modes, used when from has no strides of its own; null where it has. The caller orders the streams: DLPack's own protocol
 * (stream numbers) is between the two libraries' front ends.
 * to_dlpack: *managed is given to another library, which calls its deleter once; that calls release(owner), from any thread.
 * release may be null.
 * Errors: NULL, RANK, DTYPE, OVERFLOW, DEVICE (memory that this context does not reach). */
struct DLTensor;
struct DLManagedTensor;
TCU_API tcu_status_t tcu_tensor_from_dlpack(tcu_tensor_t *tensor, int64_t *strides, tcu_context_t context,
                                            const struct DLTensor *from);
TCU_API tcu_status_t tcu_tensor_to_dlpack(struct DLManagedTensor **managed, tcu_context_t context, const tcu_tensor_t *tensor,
                                          void *owner, void (*release)(void *owner));

typedef struct tcu_device_info_t {
  size_t struct_size;
  char name[128];
  int32_t major, minor;      /* compute capability; 0 on the cpu */
  int32_t processors;        /* multiprocessors, or hardware threads */
  int32_t reserved;
  int64_t memory_bytes;
  int64_t l2_bytes;
} tcu_device_info_t;
#define TCU_DEVICE_INFO_INIT { sizeof(tcu_device_info_t), {0}, 0, 0, 0, 0, 0, 0 }

/* How many devices a backend has here: 1 for "cpu", 0 for "cuda" without a driver or a GPU. */
TCU_API tcu_status_t tcu_device_count(int32_t *count, const char *backend);
TCU_API tcu_status_t tcu_device_info(tcu_device_info_t *info, const char *backend, int32_t device);

/* ------------------------------------------------------------------------------------------------------- 6. plans */

/* A problem with its kernel chosen and compiled. Holds no data pointers; any thread may execute it, on any stream.
 * Belongs to its context and must be destroyed before it. */
typedef struct tcu_plan *tcu_plan_t;

/* The arguments are those of the one-shot calls. Data pointers are only looked at for their alignment. */
TCU_API tcu_status_t tcu_plan_map(tcu_plan_t *plan, tcu_context_t context, const tcu_tensor_t *out, tcu_expr_t expr,
                                  int32_t n_inputs, const tcu_tensor_t *inputs, const tcu_options_t *options);
TCU_API tcu_status_t tcu_plan_reduce(tcu_plan_t *plan, tcu_context_t context, const tcu_tensor_t *out,
                                     tcu_reduce_op_t op, tcu_expr_t expr, int32_t n_inputs, const tcu_tensor_t *inputs,
                                     int32_t n_dims, const int32_t *dims, const tcu_options_t *options);
/* When it is executed, the offsets come after the inputs. */
TCU_API tcu_status_t tcu_plan_segmented_reduce(tcu_plan_t *plan, tcu_context_t context, const tcu_tensor_t *out,
                                               tcu_reduce_op_t op, tcu_expr_t expr, int32_t n_inputs,
                                               const tcu_tensor_t *inputs, int32_t dim, const tcu_tensor_t *offsets,
                                               const tcu_options_t *options);
TCU_API tcu_status_t tcu_plan_scan(tcu_plan_t *plan, tcu_context_t context, const tcu_tensor_t *out, tcu_reduce_op_t op,
                                   tcu_expr_t expr, int32_t n_inputs, const tcu_tensor_t *inputs, int32_t dim,
                                   const tcu_options_t *options);
TCU_API tcu_status_t tcu_plan_workspace(tcu_plan_t plan, size_t *bytes);
/* Runs the plan on these pointers. Of options, stream, scalars, alpha, beta, init, correction, second's data and the workspace are
 * read; beta may only be given if the plan was made with one, and without it such a plan reads out all the same, times 0. Errors: NULL,
 * SHAPE (fewer inputs or results than the plan has), WORKSPACE, ALIGNMENT, OVERLAP, EXPR. */
TCU_API tcu_status_t tcu_plan_execute(tcu_plan_t plan, void *out, int32_t n_inputs, const void *const *inputs,
                                      const tcu_options_t *options);
TCU_API tcu_status_t tcu_plan_destroy(tcu_plan_t plan);

/* ----------------------------------------------------------------------------------------------- 7. introspection */

typedef struct tcu_plan_info_t {
  size_t struct_size;
  const char *kernel;        /* e.g. "reduce.contiguous"; lives as long as the library */
  const char *modes;         /* the canonical problem, fastest mode first, e.g. "R:1024 K:65536"; as long as the plan */
  int64_t bytes;             /* that must move: each input element once, each output once (twice with beta) */
  int64_t workspace_bytes;
  int64_t grid, block;       /* blocks and threads a block; tasks and 1 on the cpu */
  int64_t shared_bytes;
  int32_t compiled;          /* 1: generated and compiled at run time; 0: shipped in the library */
  int32_t index_bits;        /* 32 or 64 */
} tcu_plan_info_t;
#define TCU_PLAN_INFO_INIT { sizeof(tcu_plan_info_t), NULL, NULL, 0, 0, 0, 0, 0, 0, 0 }
TCU_API tcu_status_t tcu_plan_info(tcu_plan_t plan, tcu_plan_info_t *info);

/* The rows of the context's kernel registry, in the planner's order, and how many calls each has served. */
TCU_API tcu_status_t tcu_kernel_count(tcu_context_t context, int32_t *count);
TCU_API tcu_status_t tcu_kernel_name(tcu_context_t context, int32_t index, const char **name);
TCU_API tcu_status_t tcu_kernel_calls(tcu_context_t context, int32_t index, int64_t *calls);

/* Names of the tables' rows ("float32", "tanh", "sum"); null for an id that is not in the table. */
TCU_API const char *tcu_dtype_name(tcu_dtype_t dtype);
TCU_API const char *tcu_op_name(tcu_op_t op);
TCU_API const char *tcu_reduce_op_name(tcu_reduce_op_t op);
/* The id of a named row; 0 if there is none. */
TCU_API tcu_dtype_t tcu_dtype_by_name(const char *name);
TCU_API tcu_op_t tcu_op_by_name(const char *name);
TCU_API tcu_reduce_op_t tcu_reduce_op_by_name(const char *name);
/* Bytes of one element; 0 for an unknown dtype. */
TCU_API int32_t tcu_dtype_bytes(tcu_dtype_t dtype);

/* ---------------------------------------------------------------------------------------------------- 8. versions */

#define TCU_VERSION_MAJOR 0
#define TCU_VERSION_MINOR 1
#define TCU_VERSION_PATCH 0
/* major * 10000 + minor * 100 + patch of the library that is loaded. */
TCU_API int32_t tcu_version(void);

#ifdef __cplusplus
}
#endif
#endif
