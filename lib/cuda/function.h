// A device function as the rest of lib/cuda names it: which kernel body, instantiated on which element function and
// types. Shipped in the library or compiled at run time, the name and the way to launch are the same.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/problem.h"
#include "plan/backend.h"

namespace tcu::cuda {

// Which Params (device/params.cuh; tape: kernels/broadcast_tape.cuh) the function takes by value.
enum class ParamSize { small, medium, large, tape };

struct Instance {
  std::string_view body;  // a function template of that name in kernels/<body>.cuh, first template argument Map
  std::string arguments;  // the others, as C++ text: "tcu::fold::sum, float, float, int32_t"
  ParamSize size = ParamSize::small;
  std::shared_ptr<const Expr> expr;  // what Map computes
  DType in[kMaxInputs] = {};         // of these
  int n_inputs = 0;
  DType more[kMaxResults - 1] = {};  // of a map with several results, those beside the first
  int n_more = 0;
  int n_kept = kAny, n_folded = 0;  // modes; kAny: any numbers of them, as shipped functions take

  static constexpr int kAny = -1;

  TypedExpr map() const { return infer(*expr, in, n_inputs); }
  bool operator==(const Instance &) const;  // part by part: what has one name may differ, by tapes that come to the same
};

// What an op takes of a thread, in float32 functions: tanh, some 20 instructions, is 1.
double work_of(Op op, int operand_bytes);

// The instance's name: equal for equal functions, stable across processes. Constants and scalars are not part of it.
std::string name_of(const Instance &f);
// The CUDA C++ that compiles to it (codegen.cpp): one extern "C" __global__ function `kernel`. A pure function.
std::string source_of(const Instance &f);

// A function that the library ships (shipped.cpp).
struct Shipped {
  const void *handle = nullptr;  // null: it does not
  int selector = 0;              // which op it stands for, where one function holds several (shipped_broadcast_any.cu)
};
Shipped shipped(const std::string &name);

// A function ready to be launched on a device: cudaLaunchKernelExC takes it whichever way it came.
struct Function {
  const void *handle = nullptr;
  int selector = 0;        // Shipped's
  bool compiled = false;   // at run time
  bool in_turn = false;    // it waits by itself for what comes before it in its stream (begin_in_turn, device/intrinsics.cuh)
  int ordinal = 0;         // of the device that launch() makes current
};

// Compiles source for the current device, through the memory and the disk cache; fails with Code::library without NVRTC
// (jit.cpp).
const void *compile(const Instance &f, int ordinal);
// The same for those that do not wait: null while a thread of its own compiles, or if it could not (compile says why).
const void *compile_beside(const Instance &f, int ordinal);
// function.cpp keeps what it has answered: a known instance is not named again, nor is the runtime asked for it.
bool is_shipped(const Instance &f);
// shipped, or compiled: the one place that decides. config: what launches will ask for. now: none (a null handle) as long as it is being compiled.
Function resolve(const Instance &f, int ordinal, const LaunchConfig &config, bool now = false);

// All of the project's kernels take one struct by value (launch.cpp). Checks the launch's error at once.
void launch(const Function &f, const LaunchConfig &config, const void *params, void *stream);

}  // namespace tcu::cuda
