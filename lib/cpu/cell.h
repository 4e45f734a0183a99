// How a compute type lies in a tile, and which dtypes a row of ops.def is instantiated for.
// Plain C++ without Highway: the files compiled per SIMD target include it inside their target's namespace through
// templates only, so that each target gets its own instantiations.
#pragma once
#include "core/functors.h"
#include "core/op.h"

namespace tcu::cpu {

// bool as a byte: gcc vectorizes loops over bytes, and not over bool.
template <class T> using cell_t = select_t<is_bool<T>, uint8_t, T>;

template <class T> TCU_FN T get(cell_t<T> c) {
  if constexpr (is_bool<T>) return c != 0;
  else return c;
}
template <class T> TCU_FN cell_t<T> put(T x) {
  if constexpr (is_bool<T>) return bool_bits(x);
  else return x;
}

template <DType D> struct compute_of;
#define TCU_DTYPE(id, NAME, name, storage_, compute_, kind_, julia) \
  template <> struct compute_of<DType::name> {                      \
    using type = compute_;                                          \
    using storage = storage_;                                       \
    static constexpr Kind kind = Kind::kind_;                       \
  };
#include "core/dtypes.def"
#undef TCU_DTYPE

// X(dtype) for each compute dtype.
#define TCU_REAL_CELLS(X) X(bool_) X(i8) X(i16) X(i32) X(i64) X(u8) X(u16) X(u32) X(u64) X(f32) X(f64)
#define TCU_COMPLEX_CELLS(X) X(c64) X(c128)

// The domain column of ops.def, as kinds.
namespace domain {
inline constexpr uint8_t Any = 31, Real = 15, Integral = 7;
}

// Whether a row can be asked for operands of dtype D: the image of op_types() in op.cpp.
template <DType D> constexpr bool in_domain(uint8_t kinds, Result rule) {
  constexpr Kind k = compute_of<D>::kind;
  if (rule == Result::Float || rule == Result::FloatReal) return (k == Kind::Float || k == Kind::Complex) && (kinds & uint8_t(k));
  if (rule == Result::Arith && k == Kind::Bool) return false;
  return kinds & uint8_t(k);
}

}  // namespace tcu::cpu
