// Problem: what is to be computed, canonical and without pointers: out = post(fold(pre(inputs...))). The key of every
// cache, and all that a kernel's accepts() and configure() look at.
#pragma once
#include <memory>
#include <string>

#include "core/modes.h"

namespace tcu {

// segmented: a reduction whose R mode is cut into segments by offsets that are data; a K mode counts the segments.
enum class Family : uint8_t { broadcast, reduce, scan, segmented };
const char *name_of(Family f);

enum class Determinism : uint8_t { run_to_run = 0, any_order = 1 };

// segmented: the expression leaves two values, and the first says whether a segment begins.
struct ScanFlags {
  bool exclusive = false, reverse = false, segmented = false;
  bool operator==(const ScanFlags &) const = default;
};

struct Problem {
  Family family = Family::broadcast;
  ReduceOp op = ReduceOp::none;  // reduce and scan
  ScanFlags scan;
  Determinism determinism = Determinism::run_to_run;
  bool reads_out = false;        // beta is given
  bool in_place = false;         // out is one of the inputs, with the same layout
  uint8_t index_bits = 64;       // 32 when every offset of every operand, in elements, fits an int32
  int n_inputs = 0;
  DType out = DType::none, acc = DType::none, element = DType::none;  // element: what expr yields
  DType in[kMaxInputs] = {};
  DType offsets = DType::none;  // segmented: i32 or i64
  int n_more = 0;               // results beside out, which lie as it does: a map's others, a reduction's second
  DType more[kMaxResults - 1] = {};
  uint8_t alignment[1 + kMaxInputs] = {};  // of out and the inputs' pointers: log2 of bytes, at most 4
  std::shared_ptr<const Expr> expr;
  Modes modes;

  // Operands whose strides the modes carry: out, the inputs, and one more: for segments the offsets, else for an
  // arg-reduction the position weights.
  int n_operands() const { return 1 + n_inputs + (family == Family::segmented || (op != ReduceOp::none && is_arg(op))); }
  // Whether the expression leaves what a scan does with what came before an element, and the element.
  bool gated() const { return op == ReduceOp::recurrence || scan.segmented; }
  // Values that the expression leaves: two of a gated scan, a map's results, else one.
  int n_values() const { return gated() ? 2 : family == Family::broadcast ? 1 + n_more : 1; }
  int position_operand() const { return 1 + n_inputs; }
  int offsets_operand() const { return 1 + n_inputs; }
  int64_t kept() const { return modes.count(Role::K); }
  int64_t reduced() const { return modes.count(Role::R); }
  DType dtype(int operand) const { return operand == 0 ? out : in[operand - 1]; }
  bool empty() const;  // no output element
  // Bytes that must move: each distinct element of each input once, each output once, twice if it is read.
  int64_t bytes() const;
  std::string pattern() const;  // "R:1024 K:65536", fastest mode first

  uint64_t hash() const;
  bool operator==(const Problem &o) const;
};

// What the three families have in common in a call. Arrays are borrowed for the call.
struct Request {
  TensorView out;
  std::shared_ptr<const Expr> expr;  // null: the identity
  int n_inputs = 0;
  const TensorView *inputs = nullptr;
  DType accumulator = DType::none;
  Determinism determinism = Determinism::run_to_run;
  int n_more = 0;                    // results beside out, of a map or a reduction
  const TensorView *more = nullptr;
  bool reads_out = false;
  int alignment = 0;       // bytes; 0 takes it from the pointers
  bool need_data = true;   // false: a plan is made, pointers may be null
};

// The operand by which a fold's modes are ordered: of the inputs with the most elements the first.
int leading_input(const Problem &p);
// Whether operand a has the strides of operand b.
bool lies_as(const Problem &p, int a, int b);

// What messages call the results beside out.
const char *more_name(int i);

// Each checks everything that can be wrong with the request (section 1 of tcuops.h) and touches no data.
Problem make_broadcast(const Request &r);
Problem make_reduce(const Request &r, ReduceOp op, int n_dims, const int32_t *dims);
Problem make_scan(const Request &r, ReduceOp op, int dim, ScanFlags flags);
// offsets of segments: a dense vector of int32 or int64, not empty.
Layout check_offsets(const TensorView &offsets, bool need_data);
// offsets: one number more than there are segments, along mode `dim` of the inputs.
Problem make_segmented(const Request &r, ReduceOp op, int dim, const TensorView &offsets);

// Puts the modes in the order that counts, and merges those that are one.
void order_modes(Problem &p);

// Re-checks what depends on pointers alone, for a plan that is executed on new ones.
struct Pointers {
  void *out = nullptr, *more[kMaxResults - 1] = {};
  const void *in[kMaxInputs] = {};
  const void *offsets = nullptr;
};
// Fails with Code::null, alignment or overlap.
void check_pointers(const Problem &p, const Pointers &at);

}  // namespace tcu
