// What the opaque handles of tcuops.h are, the guard around every entry, and the translation of its structs.
#pragma once
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "core/error.h"
#include "core/problem.h"
#include "plan/planner.h"
#include "tcuops.h"

struct tcu_context {
  explicit tcu_context(std::unique_ptr<tcu::Backend> backend) : planner(std::move(backend)) {}
  tcu::Planner planner;
};
struct tcu_expr {
  std::shared_ptr<const tcu::Expr> expr;
};
struct tcu_plan {
  tcu_context_t context;
  std::shared_ptr<const tcu::Plan> plan;
  std::string pattern;  // of tcu_plan_info
};

namespace tcu::capi {

tcu_status_t report(Code code, const char *message) noexcept;  // sets the thread's last error
void clear_error() noexcept;
const char *error_text() noexcept;

// Runs an entry's body; whatever it throws becomes a status and a message.
template <class Body>
tcu_status_t guard(Body &&body) noexcept {
  try {
    body();
    clear_error();
    return TCU_OK;
  } catch (const Error &e) {
    return report(e.code, e.what());
  } catch (const std::bad_alloc &) {
    return report(Code::out_of_memory, "the host is out of memory");
  } catch (const std::exception &e) {
    return report(Code::internal, e.what());
  } catch (...) {
    return report(Code::internal, "an unknown exception");
  }
}

template <class T>
T *need(T *pointer, const char *name) {
  if (!pointer) fail(Code::null, "%s is null", name);
  return pointer;
}

// The caller's options, of this or an older version, as this version's; n_second is how many tensors there are at `second`.
tcu_options_t read_options(const tcu_options_t *given);

// A call's tensors in the form that core takes.
struct Call {
  Call(const tcu_tensor_t *out, tcu_expr_t expr, int32_t n_inputs, const tcu_tensor_t *inputs, const tcu_options_t &options,
       bool need_data);
  void add_input(const TensorView &t) { inputs[request.n_inputs++] = t; }
  Request request;
  TensorView inputs[kMaxInputs], more[kMaxResults - 1];
};
TensorView view(const tcu_tensor_t &t, const char *name, int number = -1);
ScanFlags scan_flags(const tcu_options_t &options);

// The values of an execution; checks that the scalars that the plan's expression names are there.
Execution execution(const Plan &plan, const Expr &expr, const tcu_options_t &options);

}  // namespace tcu::capi
