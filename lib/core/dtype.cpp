#include "core/dtype.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "core/error.h"

namespace tcu {
namespace {

std::string lower(const char *s) {
  std::string out = s;
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

struct Table {
  DTypeInfo rows[kDTypeEnd] = {};
  std::string names[kDTypeEnd];
  Table() {
#define TCU_DTYPE(id, NAME, name_, storage_, compute_, kind_, julia) \
  names[id] = lower(#NAME);                                          \
  rows[id] = {names[id].c_str(), #name_, #storage_, #compute_, Kind::kind_, sizeof(storage_)};
#include "core/dtypes.def"
#undef TCU_DTYPE
  }
};

const Table &table() {
  static const Table t;
  return t;
}

bool is_integer(Kind k) { return k == Kind::Int || k == Kind::UInt; }

DType integer_of(int bytes, Kind kind) {
  for (int id = 1; id < kDTypeEnd; ++id)
    if (table().rows[id].kind == kind && table().rows[id].bytes == bytes) return DType(id);
  return DType::none;
}

}  // namespace

bool is_dtype(int32_t id) { return id > 0 && id < kDTypeEnd && table().rows[id].name; }

const DTypeInfo &info(DType d) { return table().rows[int(d)]; }

DType dtype_by_name(const char *name) {
  for (int id = 1; id < kDTypeEnd; ++id)
    if (is_dtype(id) && std::strcmp(table().rows[id].name, name) == 0) return DType(id);
  return DType::none;
}

DType compute_dtype(DType d) { return d == DType::f16 || d == DType::bf16 ? DType::f32 : d; }

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
    return real == DType::f64 ? DType::c128 : DType::c64;  // 16-bit floats have no complex dtype: ComplexF32 holds them
  }
  if (ka == Kind::Bool) return b;
  if (kb == Kind::Bool) return a;
  if (ka == Kind::Float && kb == Kind::Float) {
    if (bytes_of(a) == bytes_of(b)) return DType::f32;  // float16 with bfloat16
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
    case DType::none: fail(Code::internal, "a scalar without a dtype");
    case DType::bool_: { const bool v = value.i != 0; std::memcpy(to, &v, sizeof v); return; }
#define TCU_SCALAR_CASE(name, type, member) \
  case DType::name: { const type v = type(value.member); std::memcpy(to, &v, sizeof v); return; }
    TCU_SCALAR_CASE(i8, int8_t, i) TCU_SCALAR_CASE(i16, int16_t, i) TCU_SCALAR_CASE(i32, int32_t, i)
    TCU_SCALAR_CASE(i64, int64_t, i) TCU_SCALAR_CASE(u8, uint8_t, u) TCU_SCALAR_CASE(u16, uint16_t, u)
    TCU_SCALAR_CASE(u32, uint32_t, u) TCU_SCALAR_CASE(u64, uint64_t, u) TCU_SCALAR_CASE(f64, double, f)
#undef TCU_SCALAR_CASE
    case DType::f16:   // a scalar of a 16-bit dtype is that dtype's nearest number, held in float
      { const float v = convert<float>(convert<f16_t>(float(value.f))); std::memcpy(to, &v, sizeof v); return; }
    case DType::bf16:
      { const float v = convert<float>(convert<bf16_t>(float(value.f))); std::memcpy(to, &v, sizeof v); return; }
    case DType::f32: { const float v = float(value.f); std::memcpy(to, &v, sizeof v); return; }
    case DType::c64: { const c64_t v{float(value.c[0]), float(value.c[1])}; std::memcpy(to, &v, sizeof v); return; }
    case DType::c128: { const c128_t v{value.c[0], value.c[1]}; std::memcpy(to, &v, sizeof v); return; }
  }
}

}  // namespace tcu
