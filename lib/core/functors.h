// One struct per row of ops.def: tcu::fn::tanh::apply(x). Compiled by g++, nvcc and NVRTC; code generated at run time
// names these structs, and defines TCU_OPS as the rows that it names: the others would take a tenth of the time that the compiler does. Arguments
// are already of the compute type that the row's result rule asks for.
#pragma once
#include "core/scalar.h"

namespace tcu::fn {

#define TCU_FN_STRUCT1(name, ...)                                                \
  struct name {                                                                  \
    static constexpr int arity = 1;                                              \
    template <class T> TCU_FN static auto apply(T x) { return __VA_ARGS__; }     \
  };
#define TCU_FN_STRUCT2(name, ...)                                                \
  struct name {                                                                  \
    static constexpr int arity = 2;                                              \
    template <class T> TCU_FN static auto apply(T x, T y) { return __VA_ARGS__; } \
  };
#define TCU_FN_STRUCT3(name, ...)                                                \
  struct name {                                                                  \
    static constexpr int arity = 3;                                              \
    template <class P, class T>                                                  \
    TCU_FN static auto apply(P x, T y, T z) { return __VA_ARGS__; }              \
  };
#define TCU_OP(id, name, arity, domain, result, julia, ...) TCU_FN_STRUCT##arity(name, __VA_ARGS__)
#if defined(TCU_OPS)
TCU_OPS
#else
#include "core/ops.def"
#endif
#undef TCU_OP
#undef TCU_FN_STRUCT1
#undef TCU_FN_STRUCT2
#undef TCU_FN_STRUCT3

}  // namespace tcu::fn
