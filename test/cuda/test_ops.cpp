// Every op on the cuda backend, by a map of that op alone, against the oracles of the host's test (ops_oracle.h).
// TCU_TEST_ULP=1 prints the worst error of every row.
// The emulated library computes with the host's functions and takes seconds to compile an op that it does not ship: there only
// the few that it ships are run, in float32 and float64.
#include <cmath>
#include <cstring>
#include <deque>

#include "api.h"
#include "ops_oracle.h"
#include "tensor.h"

using namespace api;
using namespace ops_oracle;

namespace {

struct Bounds {
  L ulp32 = 0, ulp64 = 0;  // the larger of this and the oracle's own holds
};
const std::map<std::string, Bounds> looser = {
    // One function of CUDA's: its maximum ulp error in the CUDA C++ Programming Guide (13.0, section 17.1, tables 17 and 18), and
    // half an ulp, because the guide counts from the correctly rounded result.
    {"rsqrt", {2.5L, 0}},
    {"cbrt", {1.5L, 1.5L}},
    {"exp", {2.5L, 0}},
    {"exp2", {2.5L, 0}},
    {"exp10", {2.5L, 0}},
    {"log10", {2.5L, 0}},
    {"sin", {2.5L, 2.5L}},
    {"cos", {2.5L, 2.5L}},
    {"tan", {0, 2.5L}},
    {"asin", {2.5L, 2.5L}},
    {"acos", {2.5L, 2.5L}},
    {"atan", {2.5L, 2.5L}},
    {"sinh", {0, 2.5L}},
    {"cosh", {2.5L, 0}},
    {"tanh", {2.5L, 0}},
    {"asinh", {0, 3.5L}},
    {"acosh", {0, 3.5L}},
    {"atanh", {0, 2.5L}},
    {"sinpi", {0, 2.5L}},
    {"cospi", {0, 2.5L}},
    {"erf", {2.5L, 2.5L}},
    {"erfc", {0, 5.5L}},
    {"gamma", {0, 10.5L}},
    {"pow", {0, 2.5L}},
    {"hypot", {0, 2.5L}},
    {"atan2", {0, 2.5L}},
    // Composed of several: the host's bound, and what exp (2.5 and 1.5 ulp, glibc's 0.5), log and expm1 (1.5) and erfc (5.5) add
    // to it. In float32 the activations call none of these.
    {"sigmoid", {0, 4}},
    {"logsigmoid", {0, 4}},
    {"softplus", {0, 4}},
    {"selu", {0, 4}},
    {"gelu", {0, 8}},
    {"gelu_tanh", {0, 6}},
    {"silu", {0, 5}},
    {"mish", {0, 5}},
    {"xlogy", {4, 4}},
    {"logaddexp", {6, 5}},
    {"logsigmoid_grad", {6, 5}},
    {"softplus_grad", {6, 5}},
};

template <class T>
Oracle oracle(const char *name) {
  Oracle o = *find_oracle(name);
  if (const auto row = looser.find(name); row != looser.end()) {
    o.ulp32 = std::max(o.ulp32, row->second.ulp32);
    o.ulp64 = std::max(o.ulp64, row->second.ulp64);
  }
  // The guide gives no bound between -23.0001 and -2.2637, where lgamma(x) has its zeros: there in ulp of x.
  if (is_same<T, double> && name == std::string("lgamma")) o.size = [](L x, L, L) { return x > -23.0001L && x < -2.2637L ? -x : 0; };
  return o;
}

template <class T>
tcu_dtype_t dtype_of() {
  return tcu_dtype_by_name(type_name<T>().c_str());
}

template <class T, class F>
auto column(const std::vector<Arguments<T>> &tuples, F element) {
  std::vector<decltype(element(tuples[0]))> values;
  for (const Arguments<T> &a : tuples) values.push_back(element(a));
  return values;
}

// Reports the worst result. select: the first operand is a Bool, true where the argument is not zero.
template <class G, class T>
void check(const char *name, tcu_op_t id, int arity, bool select) {
  const Oracle o = oracle<T>(name);
  REQUIRE(has_oracle<T>(o));
  const std::vector<Arguments<T>> tuples = arguments<T>(arity, o);
  const int64_t n = int64_t(tuples.size());

  std::vector<tcu_node_t> nodes;
  std::vector<tcu_tensor_t> inputs;
  std::deque<Memory> memory;  // a Memory cannot be moved
  for (int k = 0; k < arity; ++k) {
    const bool condition = select && k == 0;
    if (condition) memory.emplace_back(column(tuples, [](const Arguments<T> &a) { return uint8_t(a[0] != T{}); }));
    else memory.emplace_back(column(tuples, [k](const Arguments<T> &a) { return a[k]; }));
    inputs.push_back({memory.back().data, &n, nullptr, condition ? TCU_BOOL : dtype_of<T>(), 1});
    nodes.push_back(input(k));
  }
  nodes.push_back(op(id));
  const Expr expr(nodes);
  const Memory results(tuples.size() * sizeof(G));
  const tcu_tensor_t out{results.data, &n, nullptr, dtype_of<G>(), 1};
  if (tcu_map(cuda(), &out, expr.handle, arity, inputs.data(), nullptr) != TCU_OK) {
    FAIL_CHECK(name << " of " << type_name<T>() << ": " << tcu_last_error());
    return;
  }
  const auto got = results.get<std::conditional_t<is_bool<G>, uint8_t, G>>(tuples.size());  // vector<bool> has no data()
  size_t worst = 0;
  L error = 0;
  for (size_t i = 0; i < tuples.size(); ++i)
    if (const L e = error_of(o, tuples[i], G(got[i])); e > error) worst = i, error = e;
  print_worst<T>(name, o, error);
  if (error > bound_of<T>(o)) FAIL_CHECK(describe(name, arity, o, tuples[worst], G(got[worst])));

  tcu_options_t off_tape = TCU_OPTIONS_INIT;
  off_tape.kernel = "broadcast.tape";
  const tcu_status_t status = tcu_map(cuda(), &out, expr.handle, arity, inputs.data(), &off_tape);
  if (is_complex<T> && status == TCU_ERROR_KERNEL) return;
  if (status != TCU_OK || std::memcmp(results.get<uint8_t>(tuples.size() * sizeof(G)).data(), got.data(), tuples.size() * sizeof(G)) != 0)
    FAIL_CHECK(name << " of " << type_name<T>() << " off its tape has other bits " << tcu_last_error());
}

template <int arity, Domain domain, Result rule>
void check_row(const char *name, tcu_op_t id) {
  INFO("op " << name);
  REQUIRE(find_oracle(name));
  constexpr bool select = rule == Result::Select, exact = rule != Result::Float && rule != Result::FloatReal;
  const auto shipped = {"tanh", "isnan", "add", "pow"};  // in the emulated library
  if (emulated() && std::find(shipped.begin(), shipped.end(), std::string(name)) == shipped.end()) return;
  if constexpr (domain != Domain::Integral) {
    check<result_of<rule, float>, float>(name, id, arity, select);
    check<result_of<rule, double>, double>(name, id, arity, select);
  }
  if (emulated()) return;
  if constexpr (exact) check<result_of<rule, int32_t>, int32_t>(name, id, arity, select);
  if constexpr (domain == Domain::Any) check<result_of<rule, c64_t>, c64_t>(name, id, arity, select);
}

}  // namespace

TEST_CASE("cuda: every op against its oracle, in ulp", "[cuda][ops]") {
#define TCU_OP(id, name, arity, domain, result, julia, ...) check_row<arity, Domain::domain, Result::result>(#name, id);
#include "core/ops.def"
#undef TCU_OP
}

namespace {

constexpr tcu_dtype_t kIntegers[] = {TCU_BOOL, TCU_INT8, TCU_INT16, TCU_INT32, TCU_INT64, TCU_UINT8, TCU_UINT16, TCU_UINT32, TCU_UINT64};
constexpr tcu_dtype_t kReals[] = {TCU_FLOAT8_E4M3, TCU_FLOAT8_E5M2, TCU_FLOAT16, TCU_BFLOAT16, TCU_FLOAT32, TCU_FLOAT64};

tcu_context_t cpu() {
  static const tcu_context_t made = [] {
    tcu_context_t c = nullptr;
    OK(tcu_context_create(&c, "cpu", 0));
    return c;
  }();
  return made;
}

// n elements: integers of any size, the least and the greatest among them; floats that a few bits say.
std::vector<uint8_t> some_of(support::Rng &rng, tcu_dtype_t type, int64_t n) {
  const size_t bytes = size_t(tcu_dtype_bytes(type));
  const uint64_t least = uint64_t(1) << (8 * bytes - 1), corners[] = {0, 1, ~uint64_t(0), least, least - 1};
  std::vector<uint8_t> data(size_t(n) * bytes);
  for (size_t i = 0; i < size_t(n); ++i) {
    uint8_t *const to = data.data() + i * bytes;
    const uint64_t any = support::chance(rng, 20) ? support::one_of(rng, corners) : uint64_t(int64_t(rng()) >> support::pick(rng, 0, 63));
    if (type == TCU_BOOL) *to = any & 1;
    else if (std::find(std::begin(kReals), std::end(kReals), type) != std::end(kReals)) tensors::encode(type, to, double(int64_t(any) % 64) / 4);
    else std::memcpy(to, &any, bytes);
  }
  return data;
}

// The map of `nodes` on the cpu and off its tape; whether both took it. Then they have the same bits, but for those of NaN (too large for
// float8_e4m3: its sign is lost where a GPU widens it again).
bool agree(const std::vector<tcu_node_t> &nodes, const std::vector<std::vector<uint8_t>> &inputs, const std::vector<tcu_dtype_t> &types, int64_t n) {
  const Expr e(nodes);
  const int count = int(types.size());
  tcu_dtype_t result = 0;
  if (tcu_expr_dtype(&result, e.handle, count, types.data()) != TCU_OK) return false;
  std::vector<uint8_t> expected(size_t(n) * size_t(tcu_dtype_bytes(result)));
  std::deque<Memory> memory;
  std::vector<tcu_tensor_t> here, there;
  for (int i = 0; i < count; ++i) {
    here.push_back({const_cast<uint8_t *>(inputs[size_t(i)].data()), &n, nullptr, types[size_t(i)], 1});
    memory.emplace_back(inputs[size_t(i)]);
    there.push_back({memory.back().data, &n, nullptr, types[size_t(i)], 1});
  }
  const Memory results(expected.size());
  const tcu_tensor_t host{expected.data(), &n, nullptr, result, 1}, device{results.data, &n, nullptr, result, 1};
  tcu_options_t off_tape = TCU_OPTIONS_INIT;
  off_tape.kernel = "broadcast.tape";
  OK(tcu_map(cpu(), &host, e.handle, count, here.data(), nullptr));
  OK(tcu_map(cuda(), &device, e.handle, count, there.data(), &off_tape));
  const std::vector<uint8_t> got = results.get<uint8_t>(expected.size());
  const size_t bytes = expected.size() / size_t(n);
  for (size_t i = 0; i < expected.size(); i += bytes) {
    const bool both_nan = std::isnan(tensors::decode(result, &got[i])) && std::isnan(tensors::decode(result, &expected[i]));
    if (!both_nan && !std::equal(&got[i], &got[i] + bytes, &expected[i])) FAIL_CHECK("element " << i / bytes << " differs");
  }
  return true;
}

}  // namespace

TEST_CASE("cuda: every op of integers off its tape, as on the cpu", "[cuda][ops]") {
  support::Rng rng(20261130);
  const int64_t n = 300;
  int agreed = 0;
  for (tcu_op_t id = 1; id < 1024; ++id) {
    if (!tcu_op_name(id)) continue;
    const int arity = id < 200 ? 1 : id < 400 ? 2 : 3;
    for (const tcu_dtype_t type : kIntegers) {
      INFO(tcu_op_name(id) << " of " << tcu_dtype_name(type));
      std::vector<tcu_node_t> nodes;
      std::vector<tcu_dtype_t> types;
      std::vector<std::vector<uint8_t>> inputs;
      for (int k = 0; k < arity; ++k) {
        nodes.push_back(input(k));
        types.push_back(k == 0 && id == TCU_OP_IFELSE ? TCU_BOOL : type);
        inputs.push_back(some_of(rng, types.back(), n));
      }
      nodes.push_back(op(id));
      const Expr e(nodes);
      tcu_dtype_t result = 0;
      const bool is_exact = tcu_expr_dtype(&result, e.handle, arity, types.data()) == TCU_OK && result != TCU_FLOAT64;
      if (is_exact) agreed += agree(nodes, inputs, types, n);
    }
  }
  CHECK(agreed > 250);
}

TEST_CASE("cuda: every conversion off its tape, as on the cpu", "[cuda][ops]") {
  support::Rng rng(20261201);
  const int64_t n = 300;
  std::vector<tcu_dtype_t> all(std::begin(kIntegers), std::end(kIntegers));
  all.insert(all.end(), std::begin(kReals), std::end(kReals));
  for (const tcu_dtype_t from : all)
    for (const tcu_dtype_t to : all) {
      INFO(tcu_dtype_name(from) << " to " << tcu_dtype_name(to));
      const std::vector<tcu_node_t> nodes{input(0), {TCU_NODE_CAST, 0, to, 0, {}}};
      CHECK(agree(nodes, {some_of(rng, from, n)}, {from}, n));
    }
}
