// The element-wise expressions of cases.json, "tanh(a*b+c)", or several with commas between them: parsed to postfix tapes, run in float64,
// made a tcu_expr_t.
#pragma once
#include <string>
#include <vector>

#include "capi/tcuops.h"

namespace bench {

struct Step {
  enum Kind { input, constant, op } kind;
  int index;                // input: which; op: a tcu_op_t
  double value;             // constant
  double (*apply)(double);  // op of one argument, in float64; null for + - * /
};

struct Expression {
  std::string fold;  // "sum", "argmax", "cumsum", ...: the outermost name of a reduction or scan; else ""
  std::vector<std::vector<Step>> tapes;  // one a value

  bool is_identity() const { return tapes.size() == 1 && tapes[0].size() == 1 && tapes[0][0].kind == Step::input && tapes[0][0].index == 0; }
  double run(const double *inputs, size_t value) const;
};

// has_fold: the outermost call is the fold. Throws std::invalid_argument.
Expression parse_expression(const std::string &text, bool has_fold);

// Null for the identity, which the library knows without an expression. dtype is that of constants.
tcu_expr_t make_expr(const Expression &e, tcu_dtype_t dtype);

}  // namespace bench
