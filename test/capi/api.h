// What the tests of the C API share. They see the library as a caller does: through tcuops.h alone.
#pragma once
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "support.h"
#include "tcuops.h"

namespace api {

using support::Sizes;

// One context for the whole program, on the CPU unless TCUOPS_TEST_BACKEND names another backend.
inline tcu_context_t context() {
  static const tcu_context_t made = [] {
    const char *backend = std::getenv("TCUOPS_TEST_BACKEND");
    tcu_context_t c = nullptr;
    if (tcu_context_create(&c, backend ? backend : "cpu", 0) != TCU_OK) throw std::runtime_error(tcu_last_error());
    std::atexit([] { tcu_context_destroy(context()); });
    return c;
  }();
  return made;
}

// The call succeeds, and says so.
#define OK(call)                                 \
  do {                                           \
    const tcu_status_t status_ = (call);         \
    INFO(#call << ": " << tcu_last_error());     \
    REQUIRE(tcu_status_name(status_) == std::string("TCU_OK")); \
    REQUIRE(std::string(tcu_last_error()).empty()); \
  } while (0)

// The call fails with that status and a message of one line.
#define FAILS(status, call)                                              \
  do {                                                                   \
    const tcu_status_t status_ = (call);                                 \
    const std::string message_ = tcu_last_error();                       \
    INFO(#call << ": " << message_);                                     \
    CHECK(tcu_status_name(status_) == std::string(#status));             \
    CHECK_FALSE(message_.empty());                                       \
    CHECK(message_.find('\n') == std::string::npos);                     \
  } while (0)

template <class T>
constexpr tcu_dtype_t dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return TCU_BOOL;
  if constexpr (std::is_same_v<T, int8_t>) return TCU_INT8;
  if constexpr (std::is_same_v<T, int16_t>) return TCU_INT16;
  if constexpr (std::is_same_v<T, int32_t>) return TCU_INT32;
  if constexpr (std::is_same_v<T, int64_t>) return TCU_INT64;
  if constexpr (std::is_same_v<T, uint8_t>) return TCU_UINT8;
  if constexpr (std::is_same_v<T, uint64_t>) return TCU_UINT64;
  if constexpr (std::is_same_v<T, float>) return TCU_FLOAT32;
  if constexpr (std::is_same_v<T, double>) return TCU_FLOAT64;
  return 0;
}

// A tensor in the context's memory, and its descriptor.
template <class T>
class Array {
 public:
  Array(Sizes extents, const std::vector<T> &values, tcu_dtype_t dtype = dtype_of<T>())
      : Array(extents, support::dense(extents), values, 0, dtype) {}
  // Element 0 stands at values[base].
  Array(Sizes extents, Sizes strides, const std::vector<T> &values, int64_t base = 0, tcu_dtype_t dtype = dtype_of<T>())
      : extents_(std::move(extents)), strides_(std::move(strides)), count_(values.size()) {
    OK(tcu_malloc(context(), &memory_, count_ * sizeof(T), nullptr));
    tensor = {static_cast<T *>(memory_) + base, extents_.data(), strides_.data(), dtype, int32_t(extents_.size())};
    set(values);
  }
  Array(const Array &) = delete;
  ~Array() { tcu_free(context(), memory_, nullptr); }

  void set(const std::vector<T> &values) {
    const auto flat = packed(values);
    OK(tcu_copy(context(), memory_, flat.data(), count_ * sizeof(T), nullptr));
  }
  std::vector<T> get() const {
    std::vector<Flat> flat(count_);
    OK(tcu_copy(context(), flat.data(), memory_, count_ * sizeof(T), nullptr));
    return std::vector<T>(flat.begin(), flat.end());
  }
  operator const tcu_tensor_t *() const { return &tensor; }
  T *data() const { return static_cast<T *>(tensor.data); }

  tcu_tensor_t tensor;

 private:
  using Flat = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;  // vector<bool> has no data()
  static std::vector<Flat> packed(const std::vector<T> &values) { return std::vector<Flat>(values.begin(), values.end()); }
  Sizes extents_, strides_;
  size_t count_;
  void *memory_ = nullptr;
};

template <class T>
std::vector<T> cast(const std::vector<double> &values) {
  return std::vector<T>(values.begin(), values.end());
}
template <class T>
std::vector<T> repeated(size_t n, T value) {
  return std::vector<T>(n, value);
}

inline tcu_node_t input(int32_t i) { return {TCU_NODE_INPUT, i, 0, 0, {}}; }
inline tcu_node_t op(tcu_op_t o) { return {TCU_NODE_OP, o, 0, 0, {}}; }
inline tcu_node_t scalar(int32_t slot, tcu_dtype_t d) { return {TCU_NODE_SCALAR, slot, d, 0, {}}; }
inline tcu_node_t cast_to(tcu_dtype_t d) { return {TCU_NODE_CAST, 0, d, 0, {}}; }
inline tcu_scalar_t real(double v) {
  tcu_scalar_t s{};
  return s.f = v, s;
}
inline tcu_scalar_t integer(int64_t v) {
  tcu_scalar_t s{};
  return s.i = v, s;
}
inline tcu_node_t constant(tcu_dtype_t d, tcu_scalar_t v) { return {TCU_NODE_CONSTANT, 0, d, 0, v}; }

class Expr {
 public:
  explicit Expr(const std::vector<tcu_node_t> &nodes) { OK(tcu_expr_create(&handle_, nodes.data(), int32_t(nodes.size()))); }
  Expr(const Expr &) = delete;
  ~Expr() { tcu_expr_destroy(handle_); }
  operator tcu_expr_t() const { return handle_; }

 private:
  tcu_expr_t handle_ = nullptr;
};

class Plan {
 public:
  Plan() = default;
  Plan(const Plan &) = delete;
  ~Plan() {
    if (handle_) tcu_plan_destroy(handle_);
  }
  tcu_plan_t *operator&() { return &handle_; }
  operator tcu_plan_t() const { return handle_; }

 private:
  tcu_plan_t handle_ = nullptr;
};

inline tcu_options_t options() {
  tcu_options_t o = TCU_OPTIONS_INIT;
  return o;
}

}  // namespace api
