#include "core/dtype.h"

#include <algorithm>

#include "core/error.h"

namespace tcu {
namespace {

// A text in lower case, of static storage.
template <size_t N> struct Lower {
  char text[N];
  consteval Lower(const char (&upper)[N]) {
    for (size_t i = 0; i < N; ++i) text[i] = upper[i] >= 'A' && upper[i] <= 'Z' ? char(upper[i] - 'A' + 'a') : upper[i];
  }
};
template <Lower name> constexpr const char *lower() { return name.text; }

// The dtype that an element type is stored as.
template <class T> constexpr DType stored_as = DType::none;
#define TCU_DTYPE(id, NAME, name, storage, ...) template <> constexpr DType stored_as<storage> = DType::name;
#include "core/dtypes.def"
#undef TCU_DTYPE

// A scalar of dtype S as it is held while computing: an 8- or 16-bit float is first rounded to that dtype's nearest number.
template <class S, Kind kind> void store_as(void *to, Scalar value) {
  using C = compute_t<S>;
  C v;
  if constexpr (kind == Kind::Bool) v = value.i != 0;
  else if constexpr (kind == Kind::Int) v = C(value.i);
  else if constexpr (kind == Kind::UInt) v = C(value.u);
  else if constexpr (kind == Kind::Float) v = convert<C>(convert<S>(value.f));
  else v = {real_t<C>(value.c[0]), real_t<C>(value.c[1])};
  std::memcpy(to, &v, sizeof v);
}

bool is_integer(Kind k) { return k == Kind::Int || k == Kind::UInt; }

DType integer_of(int bytes, Kind kind) {
  for (int id = 1; id < kDTypeEnd; ++id)
    if (kDTypes[id].kind == kind && kDTypes[id].bytes == bytes) return DType(id);
  return DType::none;
}

}  // namespace

constinit const std::array<DTypeInfo, kDTypeEnd> kDTypes = [] {
  std::array<DTypeInfo, kDTypeEnd> rows = {};
#define TCU_DTYPE(id, NAME, name_, storage_, compute_, kind_, julia) \
  rows[id] = {lower<#NAME>(), #name_, #storage_, #compute_, Kind::kind_, sizeof(storage_)};
#include "core/dtypes.def"
#undef TCU_DTYPE
  return rows;
}();

DType dtype_by_name(const char *name) {
  for (int id = 1; id < kDTypeEnd; ++id)
    if (is_dtype(id) && std::strcmp(kDTypes[id].name, name) == 0) return DType(id);
  return DType::none;
}

DType compute_dtype(DType d) {
  switch (d) {
#define TCU_DTYPE(id, NAME, name, storage, compute, ...)                                      \
  static_assert(is_same<compute, compute_t<storage>>, "compute_t of scalar_types.h differs"); \
  case DType::name: return stored_as<compute>;
#include "core/dtypes.def"
#undef TCU_DTYPE
    case DType::none: break;
  }
  return d;
}

DType real_part_of(DType d) { return d == DType::c64 ? DType::f32 : d == DType::c128 ? DType::f64 : d; }

DType float_of(DType d) {
  const Kind k = kind_of(d);
  return k == Kind::Float || k == Kind::Complex ? d : DType::f64;
}

DType widen_for_sum(DType d) {
  switch (kind_of(d)) {
    case Kind::Bool:
    case Kind::Int: return DType::i64;
    case Kind::UInt: return DType::u64;
    default: return compute_dtype(d);
  }
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (bytes_of(a) > bytes_of(b) || kind_of(a) > kind_of(b)) std::swap(a, b);  // fewer cases below; the rules are symmetric
  Kind ka = kind_of(a), kb = kind_of(b);
  if (ka == Kind::Complex || kb == Kind::Complex) {
    const DType real = promote(real_part_of(a), real_part_of(b));
    return real == DType::f64 ? DType::c128 : DType::c64;  // 8- and 16-bit floats have no complex dtype: ComplexF32 holds them
  }
  if (ka == Kind::Bool) return b;
  if (kb == Kind::Bool) return a;
  if (ka == Kind::Float && kb == Kind::Float) {
    if (bytes_of(a) == bytes_of(b)) return DType::f32;  // float16 with bfloat16, float8_e4m3 with float8_e5m2
    return bytes_of(a) > bytes_of(b) ? a : b;
  }
  if (ka == Kind::Float) return a;  // an integer takes the float's type, whatever its width, as in Julia
  if (kb == Kind::Float) return b;
  if (ka == kb) return bytes_of(a) > bytes_of(b) ? a : b;
  const DType wide = bytes_of(a) > bytes_of(b) ? a : b;
  // signed with unsigned: the wider one; of one width, the unsigned
  return bytes_of(a) == bytes_of(b) ? integer_of(bytes_of(a), Kind::UInt) : (is_integer(kind_of(wide)) ? wide : b);
}

Scalar make_scalar(DType d, double value) {
  Scalar s{};
  switch (kind_of(d)) {
    case Kind::Bool:
    case Kind::Int: s.i = int64_t(value); break;
    case Kind::UInt: s.u = uint64_t(value); break;
    case Kind::Float: s.f = value; break;
    case Kind::Complex: s.c[0] = value, s.c[1] = 0; break;
  }
  return s;
}

bool is_one(Scalar s, DType d) {
  switch (kind_of(d)) {
    case Kind::Bool: return s.i != 0;
    case Kind::Int: return s.i == 1;
    case Kind::UInt: return s.u == 1;
    case Kind::Float: return s.f == 1;
    case Kind::Complex: return s.c[0] == 1 && s.c[1] == 0;
  }
  return false;
}

void store_compute(void *to, DType d, Scalar value) {
  switch (d) {
#define TCU_DTYPE(id, NAME, name, storage, compute, kind, julia) \
  case DType::name: return store_as<storage, Kind::kind>(to, value);
#include "core/dtypes.def"
#undef TCU_DTYPE
    case DType::none: break;
  }
  fail(Code::internal, "a scalar without a dtype");
}

}  // namespace tcu
