// What tests of the cuda backend share that see it through tcuops.h alone.
#pragma once
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "support.h"
#include "tcuops.h"

#define OK(call)                                                \
  do {                                                          \
    const tcu_status_t status_ = (call);                        \
    INFO(#call << ": " << tcu_last_error());                    \
    REQUIRE(tcu_status_name(status_) == std::string("TCU_OK")); \
  } while (0)

namespace api {

inline tcu_context_t cuda() {
  static const tcu_context_t made = [] {
    tcu_context_t c = nullptr;
    if (tcu_context_create(&c, "cuda", 0) != TCU_OK) throw std::runtime_error(tcu_last_error());
    return c;
  }();
  return made;
}

class Memory {
 public:
  explicit Memory(size_t bytes, void *stream = nullptr) : stream_(stream) { OK(tcu_malloc(cuda(), &data, bytes, stream)); }
  template <class T>
  explicit Memory(const std::vector<T> &values, void *stream = nullptr) : Memory(values.size() * sizeof(T), stream) {
    OK(tcu_copy(cuda(), data, values.data(), values.size() * sizeof(T), stream));
  }
  Memory(const Memory &) = delete;
  ~Memory() { tcu_free(cuda(), data, stream_); }
  template <class T>
  std::vector<T> get(size_t n) const {
    std::vector<T> values(n);
    OK(tcu_copy(cuda(), values.data(), data, n * sizeof(T), stream_));
    return values;
  }
  void *data = nullptr;

 private:
  void *stream_;
};

struct Stream {
  Stream() { OK(tcu_stream_create(cuda(), &handle)); }
  Stream(const Stream &) = delete;
  ~Stream() { tcu_stream_destroy(cuda(), handle); }
  void *handle = nullptr;
};

struct Expr {
  explicit Expr(std::vector<tcu_node_t> nodes) { OK(tcu_expr_create(&handle, nodes.data(), int32_t(nodes.size()))); }
  Expr(const Expr &) = delete;
  ~Expr() { tcu_expr_destroy(handle); }
  tcu_expr_t handle = nullptr;
};
inline tcu_node_t input(int32_t i) { return {TCU_NODE_INPUT, i, 0, 0, {}}; }
inline tcu_node_t op(int32_t id) { return {TCU_NODE_OP, id, 0, 0, {}}; }
inline tcu_node_t constant(double value) {
  tcu_node_t n{TCU_NODE_CONSTANT, 0, TCU_FLOAT32, 0, {}};
  n.value.f = value;
  return n;
}

// Asked once: tcu_device_info goes to the driver, which takes one process at a time (7 s of a case whose functions were in the cache, H200).
inline bool emulated() {
  static const bool is = [] {
    tcu_device_info_t info = TCU_DEVICE_INFO_INIT;
    OK(tcu_device_info(&info, "cuda", 0));
    return std::string(info.name).find("mulat") != std::string::npos;
  }();
  return is;
}
// TCU_TEST_SCALE: how many problems, in per cent of the standard number (the emulated library has 15).
inline int usual_scale() { return emulated() ? 15 : 100; }
inline int test_scale() {
  const char *scale = std::getenv("TCU_TEST_SCALE");
  return scale ? std::atoi(scale) : usual_scale();
}
// Whether the random problems are those that the tests were written with, of which they may ask which kernels ran.
inline bool drawn_as_written() { return !std::getenv("TCU_TEST_SEED"); }
// At a scale at which compute-sanitizer runs: under its racecheck tests that queue hundreds of calls died, one of them with 129 GB in use.
inline bool under_sanitizer() { return test_scale() < 6; }

}  // namespace api
