// DType: a row of dtypes.def, and Julia's promotion rules over them.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>

#include "core/scalar.h"

namespace tcu {

enum class DType : uint8_t {
  none = 0,
#define TCU_DTYPE(id, NAME, name, storage, compute, kind, julia) name = id,
#include "core/dtypes.def"
#undef TCU_DTYPE
};
constexpr int dtype_end() {
  int end = 1;
#define TCU_DTYPE(id, ...) end = id < end ? end : id + 1;
#include "core/dtypes.def"
#undef TCU_DTYPE
  return end;
}
inline constexpr int kDTypeEnd = dtype_end();  // one past the last id

enum class Kind : uint8_t { Bool = 1, Int = 2, UInt = 4, Float = 8, Complex = 16 };

struct DTypeInfo {
  const char *name;      // "float32"
  const char *enum_name; // "f32": the enumerator, and the suffix of kernels
  const char *storage;   // C++ type of an element, as generated code spells it
  const char *compute;   // C++ type it is computed in
  Kind kind;
  uint8_t bytes;
};

extern const std::array<DTypeInfo, kDTypeEnd> kDTypes;  // by id; an id without a row has no name
inline bool is_dtype(int32_t id) { return id > 0 && id < kDTypeEnd && kDTypes[id].name; }
inline const DTypeInfo &info(DType d) { return kDTypes[int(d)]; }
DType dtype_by_name(const char *name);  // none if there is no such row

inline int bytes_of(DType d) { return info(d).bytes; }
inline Kind kind_of(DType d) { return info(d).kind; }

DType compute_dtype(DType d);        // what values of d are held in while computing: f32 for 8- and 16-bit floats, else d
DType promote(DType a, DType b);     // Julia's promote_type
DType float_of(DType d);             // Julia's float(T): integers and Bool become f64
DType real_part_of(DType d);              // the component of a complex dtype, else d
DType widen_for_sum(DType d);        // accumulator of sum and prod: 64-bit integers, f32 for 8- and 16-bit floats, else d

// A number passed by value across the ABI; which member is read follows from the dtype it stands for.
union Scalar {
  int64_t i;
  uint64_t u;
  double f;
  double c[2];
};
Scalar make_scalar(DType d, double value);  // an exactly representable small number in d's member
bool is_one(Scalar s, DType d);
// Writes the scalar as one element of compute_dtype(d) (at most 16 bytes).
void store_compute(void *to, DType d, Scalar value);

// Calls f(type_tag<compute type>) for a dtype: the one place where a dtype becomes a C++ type on the host.
template <class T>
struct type_tag {
  using type = T;
};

}  // namespace tcu
