// A vector of Highway with one combining operation, where Highway has it for the type. Included once per SIMD target, inside
// HWY_NAMESPACE. Extrema follow scalar_math.h's, NaN and zeros included; g++ 12.2 leaves some loops of those scalar.

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
template <class Op, class T> inline constexpr bool kVectors = false;
#else
template <class Op, class T> inline constexpr bool kVectors = is_float<T> || (is_int<T> && !is_same<Op, Prod>);

template <class Op, class T, size_t most> struct Vector {  // of at most so many lanes
  using D = hn::CappedTag<T, most>;
  using V = hn::Vec<D>;
  static int64_t lanes() { return int64_t(hn::Lanes(D())); }
  static HWY_INLINE V load(const T *s) { return hn::LoadU(D(), s); }
  static HWY_INLINE void load(const T *s, V &x, V &y, V &z) { hn::LoadInterleaved3(D(), s, x, y, z); }
  static HWY_INLINE void store(V x, T *o) { hn::StoreU(x, D(), o); }
  static HWY_INLINE void stream(V x, T *o) {  // to a whole vector's boundary
    if constexpr (hn::MaxLanes(D()) * sizeof(T) >= 16) hn::Stream(x, D(), o);
    else store(x, o);
  }
  static HWY_INLINE V fold(V x, V y) {
    if constexpr (is_same<Op, Sum>) return hn::Add(x, y);
    else if constexpr (is_same<Op, Prod>) return hn::Mul(x, y);
    else if constexpr (!is_float<T>) return is_same<Op, Max> ? hn::Max(x, y) : hn::Min(x, y);
    else {
      constexpr bool max = is_same<Op, Max>;
      const V best = hn::IfThenElse(max ? hn::Gt(x, y) : hn::Lt(x, y), x, y);
      const V zeros = hn::IfThenElse(hn::Eq(x, y), max ? hn::And(x, y) : hn::Or(x, y), best);
      return hn::IfThenElse(hn::Eq(x, x), zeros, x);
    }
  }
  static HWY_INLINE V neighbours(V x, V y) { return fold(hn::ConcatEven(D(), y, x), hn::ConcatOdd(D(), y, x)); }
  static HWY_INLINE V from(int64_t lane, V y, V x) {
    return hn::IfThenElse(hn::FirstN(D(), size_t(lane > 0 ? lane : 0)), x, y);
  }
};
#endif
