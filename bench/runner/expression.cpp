#include "expression.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "library.h"

namespace bench {
namespace {

// What the cases use; a case with another function adds its row, for the reference is written here a second time.
struct Function {
  const char *name;
  double (*apply)(double);
};
const Function functions[] = {
    {"tanh", [](double x) { return std::tanh(x); }},    {"exp", [](double x) { return std::exp(x); }},
    {"log", [](double x) { return std::log(x); }},      {"sqrt", [](double x) { return std::sqrt(x); }},
    {"abs", [](double x) { return std::fabs(x); }},     {"abs2", [](double x) { return x * x; }},
    {"relu", [](double x) { return x > 0 ? x : 0.0; }}, {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
};

const Function *function_named(const std::string &name) {
  for (const Function &f : functions) {
    if (name == f.name) return &f;
  }
  return nullptr;
}

// all := sum {, sum}; sum := product {(+|-) product}; product := factor {(*|/) factor}; factor := -factor | (sum) | name(sum) | a..p |
// number
class Parser {
 public:
  explicit Parser(const std::string &text) : text_(text) {}

  Expression parse(bool has_fold) {
    if (has_fold) {
      e_.fold = name();
      expect('(');
    }
    do {
      e_.tapes.emplace_back();
      sum();
    } while (peek() == ',' && ++at_);
    if (has_fold) expect(')');
    if (at_ != text_.size()) fail("does not end here");
    return e_;
  }

 private:
  [[noreturn]] void fail(const std::string &what) const {
    throw std::invalid_argument("expr '" + text_ + "', character " + std::to_string(at_ + 1) + ": " + what);
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void expect(char c) {
    if (peek() != c) fail(std::string("wants '") + c + "'");
    at_++;
  }
  std::string name() {
    size_t from = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_') at_++;
    if (at_ == from) fail("wants a name");
    return text_.substr(from, at_ - from);
  }
  void op(tcu_op_t id, double (*apply)(double) = nullptr) { e_.tapes.back().push_back({Step::op, id, 0, apply}); }
  void sum() {
    product();
    while (peek() == '+' || peek() == '-') {
      tcu_op_t id = text_[at_++] == '+' ? TCU_OP_ADD : TCU_OP_SUB;
      product();
      op(id);
    }
  }
  void product() {
    factor();
    while (peek() == '*' || peek() == '/') {
      tcu_op_t id = text_[at_++] == '*' ? TCU_OP_MUL : TCU_OP_DIV;
      factor();
      op(id);
    }
  }
  void factor() {
    if (peek() == '-') {
      at_++;
      factor();
      return op(TCU_OP_NEG, [](double x) { return -x; });
    }
    if (peek() == '(') {
      at_++;
      sum();
      return expect(')');
    }
    if (std::isdigit(static_cast<unsigned char>(peek()))) {
      char *end = nullptr;
      double value = std::strtod(text_.c_str() + at_, &end);
      at_ = end - text_.c_str();
      e_.tapes.back().push_back({Step::constant, 0, value, nullptr});
      return;
    }
    std::string n = name();
    if (peek() == '(') {
      at_++;
      sum();
      expect(')');
      tcu_op_t id = tcu_op_by_name(n.c_str());
      const Function *f = function_named(n);
      if (!id || !f) fail("'" + n + "' is not a function of both the library and bench/runner/expression.cpp");
      return op(id, f->apply);
    }
    if (n.size() != 1 || n[0] < 'a' || n[0] > 'p') fail("'" + n + "' is no input: they are a, b, c, ...");
    e_.tapes.back().push_back({Step::input, n[0] - 'a', 0, nullptr});
  }

  std::string text_;
  size_t at_ = 0;
  Expression e_;
};

}  // namespace

Expression parse_expression(const std::string &text, bool has_fold) { return Parser(text).parse(has_fold); }

namespace {
double run_tape(const std::vector<Step> &tape, const double *inputs) {
  double stack[16];
  int n = 0;
  for (const Step &s : tape) {
    if (s.kind == Step::input)
      stack[n++] = inputs[s.index];
    else if (s.kind == Step::constant)
      stack[n++] = s.value;
    else if (s.apply)
      stack[n - 1] = s.apply(stack[n - 1]);
    else {
      double right = stack[--n], &left = stack[n - 1];
      left = s.index == TCU_OP_ADD   ? left + right
             : s.index == TCU_OP_SUB ? left - right
             : s.index == TCU_OP_MUL ? left * right
                                     : left / right;
    }
  }
  return stack[0];
}
}  // namespace

double Expression::run(const double *inputs, size_t value) const { return run_tape(tapes[value], inputs); }

tcu_expr_t make_expr(const Expression &e, tcu_dtype_t dtype) {
  if (e.is_identity()) return nullptr;
  std::vector<tcu_node_t> nodes;
  std::vector<Step> steps;
  for (const std::vector<Step> &tape : e.tapes) steps.insert(steps.end(), tape.begin(), tape.end());
  for (const Step &s : steps) {
    tcu_node_t node = {};
    node.kind = s.kind == Step::input ? TCU_NODE_INPUT : s.kind == Step::constant ? TCU_NODE_CONSTANT : TCU_NODE_OP;
    node.index = s.index;
    if (s.kind == Step::constant) node.dtype = dtype, node.value.f = s.value;
    nodes.push_back(node);
  }
  tcu_expr_t expr = nullptr;
  must(tcu_expr_create(&expr, nodes.data(), static_cast<int32_t>(nodes.size())));
  return expr;
}

}  // namespace bench
