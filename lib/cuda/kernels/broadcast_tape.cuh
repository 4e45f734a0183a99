// broadcast.tape: any map of real numbers, step by step off its tape: one shipped function that asks for every element what a step is, and of which
// dtypes. It takes some times as long as one that is compiled for the map, but it is there at once: it stands in for those that NVRTC has not made yet
// (Planner::plan_now). Its results have the bits that theirs have, for what steps do is the same functions of core/functors.h.
// A value is held in 64 bits: a float's or a double's own, an integer's as an int64 (of unsigned ones of 64 bits theirs). The host gives each a
// place (write_tape), which is free again after the last step that takes it.
// In place: an element is written by the thread that read it, after it did.
#pragma once
#include "device/map.cuh"

namespace tcu::cuda {

// How a value is held.
enum class Held : uint8_t { integer, unsigned_integer, single, wide };
// One step of a TypedExpr.
struct TapeStep {
  enum Kind : uint8_t { input, parameter, cast, op } kind;
  uint8_t type;     // dtype: of an input and a parameter, as stored; of an op what it takes; of a cast what it makes
  Held from;        // of a cast
  uint8_t index;    // of the input, or the parameter
  uint16_t id;      // of the op
  uint8_t args[3];  // the places of what it takes
  uint8_t place;    // and of what it leaves
};
struct TapeResult {
  uint8_t place, type;  // the dtype in memory
  Held from;
};
inline constexpr int kTapeSteps = 160, kTapePlaces = 24;

struct ParamsTape : ParamsMedium {
  int32_t n_steps, n_inputs, n_more;  // n_more: results beside out
  uint8_t post;                       // the dtype of alpha and beta, which what out gets is converted to first
  Held post_held, out_held;           // how a value of that is held, and one of out's
  TapeResult result, more[3];
  TapeStep step[kTapeSteps];
};

#if defined(TCU_KERNELS)

template <class T>
TCU_DEVICE uint64_t hold(T x) {
  if constexpr (is_same<T, float>) return to_bits(x);
  else if constexpr (is_same<T, double>) return __builtin_bit_cast(uint64_t, x);
  else return uint64_t(int64_t(x));
}
template <class T>
TCU_DEVICE T held(uint64_t x) {
  if constexpr (is_same<T, float>) return from_bits(uint32_t(x));
  else if constexpr (is_same<T, double>) return __builtin_bit_cast(double, x);
  else if constexpr (is_bool<T>) return x != 0;
  else return T(x);
}
template <class To>
TCU_DEVICE To converted(uint64_t x, Held from) {
  switch (from) {
    case Held::integer: return tcu::convert<To>(int64_t(x));
    case Held::unsigned_integer: return tcu::convert<To>(x);
    case Held::single: return tcu::convert<To>(held<float>(x));
    default: return tcu::convert<To>(held<double>(x));
  }
}

// Act::of<T>(x...) of the real dtype with this id, as stored.
#define TCU_TAPE_CASE(id, storage) \
  case id: return Act::template of<storage>(x...);
#define TCU_TAPE_Bool TCU_TAPE_CASE
#define TCU_TAPE_Int TCU_TAPE_CASE
#define TCU_TAPE_UInt TCU_TAPE_CASE
#define TCU_TAPE_Float TCU_TAPE_CASE
#define TCU_TAPE_Complex(id, storage)
#define TCU_DTYPE(id, NAME, name, storage, compute, kind, julia) TCU_TAPE_##kind(id, storage)
template <class Act, class... X>
TCU_DEVICE uint64_t with_dtype(int dtype, const X &...x) {
  switch (dtype) {
#include "core/dtypes.def"
  }
  return 0;
}
#undef TCU_DTYPE
#undef TCU_TAPE_Complex
#undef TCU_TAPE_Float
#undef TCU_TAPE_UInt
#undef TCU_TAPE_Int
#undef TCU_TAPE_Bool
#undef TCU_TAPE_CASE

struct TapeLoad {
  template <class T>
  TCU_DEVICE static uint64_t of(const void *from, int64_t at) {
    return hold(tcu::convert<compute_t<T>>(loaded(static_cast<const T *>(from)[at])));
  }
};
struct TapeCast {
  template <class T>
  TCU_DEVICE static uint64_t of(uint64_t x, Held from) { return hold(tcu::convert<compute_t<T>>(converted<T>(x, from))); }
};
struct TapeStore {
  template <class T>
  TCU_DEVICE static uint64_t of(void *to, int64_t at, uint64_t x, Held from) {
    static_cast<T *>(to)[at] = converted<T>(x, from);
    return 0;
  }
};
// alpha * value + beta * out, in the dtype of these.
struct TapePost {
  template <class T, class P>
  TCU_DEVICE static uint64_t of(const P &p, int64_t at, uint64_t x) {
    using Post = compute_t<T>;
    Vec<Post, 1> y{{held<Post>(x)}};
    scale(p, y);
    if (p.reads_out()) {
      const Post old = converted<Post>(with_dtype<TapeLoad>(p.result.type, p.out, at), p.out_held);
      y.at[0] = m::add(y.at[0], m::mul(p.beta.template as<Post>(), old));
    }
    return hold(y.at[0]);
  }
};

// What a row of ops.def says of the op's operands; whether these may be of the compute type T.
enum class TapeDomain { Any, Real, Integral };
enum class TapeRule { Same, Arith, Float, RealPart, FloatReal, Bool, Select };
template <class T>
TCU_FN constexpr bool tape_takes(TapeDomain domain, TapeRule rule) {
  if (domain == TapeDomain::Integral && !is_integral<T>) return false;
  if (rule == TapeRule::Arith) return !is_bool<T>;
  return (rule != TapeRule::Float && rule != TapeRule::FloatReal) || is_float<T>;
}
template <class F, TapeRule rule, class T>
TCU_DEVICE uint64_t tape_apply(uint64_t x, uint64_t y, uint64_t z) {
  if constexpr (F::arity == 1) return hold(F::apply(held<T>(x)));
  else if constexpr (F::arity == 2) return hold(F::apply(held<T>(x), held<T>(y)));
  else if constexpr (rule == TapeRule::Select) return hold(F::apply(held<bool>(x), held<T>(y), held<T>(z)));
  else return hold(F::apply(held<T>(x), held<T>(y), held<T>(z)));
}
// The op with this id. A function that is called: it holds the code of all.
template <class T>
__device__ __noinline__ uint64_t tape_op(int id, uint64_t x, uint64_t y, uint64_t z) {
  switch (id) {
#if defined(TCU_TAPE_OPS)
#define TCU_OP(id, name, arity, domain, result, julia, ...)                                                            \
  case id:                                                                                                             \
    if constexpr (tape_takes<T>(TapeDomain::domain, TapeRule::result))                                                 \
      return tape_apply<fn::name, TapeRule::result, T>(x, y, z);                                                       \
    break;
#include "core/ops.def"
#undef TCU_OP
#endif
  }
  return 0;
}
struct TapeOp {
  template <class T>
  TCU_DEVICE static uint64_t of(int id, uint64_t x, uint64_t y, uint64_t z) { return tape_op<compute_t<T>>(id, x, y, z); }
};

// Map, Acc and Out stand for none: dtypes are on the tape.
template <class Map, class Acc, class Out, class Index>
struct broadcast_tape {
  static constexpr int kResident = 4;

  // Coordinates of element `at`, along each mode.
  struct Place {
    Index along[8];
  };
  template <class P>
  TCU_DEVICE static Place place(const P &p, Index at) {
    Place c;
#pragma unroll 1
    for (int m = 0; m < p.n_kept; ++m) {
      const Index rest = m + 1 < p.n_kept ? divide(at, p.mode[m].divisor) : 0;
      c.along[m] = at - rest * Index(p.mode[m].extent), at = rest;
    }
    return c;
  }
  template <class P>
  TCU_DEVICE static Index offset_of(const P &p, const Place &c, int input) {
    Index offset = 0;
#pragma unroll 1
    for (int m = 0; m < p.n_kept; ++m) offset += c.along[m] * Index(p.mode[m].in[input]);
    return offset;
  }

  template <class P>
  TCU_DEVICE static uint64_t value(const P &p, const TapeStep &s, const Place &c, const uint64_t *values) {
    switch (s.kind) {
      case TapeStep::input: return with_dtype<TapeLoad>(s.type, p.in[s.index], offset_of(p, c, s.index));
      case TapeStep::parameter: return with_dtype<TapeLoad>(s.type, p.parameter[s.index].bytes, 0);
      case TapeStep::cast: return with_dtype<TapeCast>(s.type, values[s.args[0]], s.from);
      default: return with_dtype<TapeOp>(s.type, s.id, values[s.args[0]], values[s.args[1]], values[s.args[2]]);
    }
  }

  template <class P>
  TCU_DEVICE static void run(const P &p) {
    const Index n = Index(p.kept), step = Index(gridDim.x) * kThreads;
    uint64_t values[kTapePlaces];
#pragma unroll 1
    for (Index at = Index(blockIdx.x) * kThreads + Index(threadIdx.x); at < n; at += step) {
      const Place c = place(p, at);
#pragma unroll 1
      for (int s = 0; s < p.n_steps; ++s) values[p.step[s].place] = value(p, p.step[s], c, values);
      Index out = 0;
#pragma unroll 1
      for (int m = 0; m < p.n_kept; ++m) out += c.along[m] * Index(p.mode[m].out);
      put(p, out, values);
    }
  }
  template <class P>
  TCU_DEVICE static void put(const P &p, Index at, const uint64_t *values) {
#pragma unroll 1
    for (int i = 0; i < p.n_more; ++i) {
      void *const to = i == 0 ? p.second : const_cast<void *>(p.in[p.n_inputs + i - 1]);
      with_dtype<TapeStore>(p.more[i].type, to, at, values[p.more[i].place], p.more[i].from);
    }
    const uint64_t y = with_dtype<TapeCast>(p.post, values[p.result.place], p.result.from);
    with_dtype<TapeStore>(p.result.type, p.out, at, with_dtype<TapePost>(p.post, p, at, y), p.post_held);
  }
};

#endif
}  // namespace tcu::cuda

#if !defined(__CUDACC__)
#include "cuda/params.h"
#include "cuda/row.h"

namespace tcu::cuda {

inline Held held_as(DType d) {
  if (d == DType::u64) return Held::unsigned_integer;
  if (kind_of(d) != Kind::Float) return Held::integer;
  return d == DType::f64 ? Held::wide : Held::single;
}

// Whether the problem's tape has room, and no complex numbers: then `to` has it.
inline bool write_tape(const Problem &p, ParamsTape &to) {
  const TypedExpr map = infer(*p.expr, p.in, p.n_inputs);
  const int n = int(map.steps.size());
  const auto is_real = [](DType d) { return d == DType::none || kind_of(d) != Kind::Complex; };
  if (n > kTapeSteps || !is_real(p.out) || !is_real(p.acc) || !std::all_of(p.more, p.more + p.n_more, is_real)) return false;

  int last[kTapeSteps];  // the last step that takes a step's value
  std::iota(last, last + n, 0);
  for (int i = 0; i < n; ++i)
    for (const int arg : map.steps[size_t(i)].args)
      if (arg >= 0) last[arg] = i;
  for (int r = 0; r < map.n_results; ++r) last[map.values[r]] = n;

  int place[kTapeSteps], free_at[kTapePlaces] = {};  // the step from which on a place is free
  for (int i = 0; i < n; ++i) {
    const Step &from = map.steps[size_t(i)];
    TapeStep &step = to.step[i] = {};
    if (!is_real(from.result) || !is_real(from.operand)) return false;
    const auto free = std::find_if(free_at, free_at + kTapePlaces, [i](int step) { return step <= i; });
    if (free == free_at + kTapePlaces) return false;
    *free = last[i];
    step.place = uint8_t(place[i] = int(free - free_at));
    for (int k = 0; k < 3; ++k) step.args[k] = from.args[k] >= 0 ? uint8_t(place[from.args[k]]) : 0;
    step.index = uint8_t(from.index), step.id = uint16_t(from.op);
    switch (from.kind) {
      case Step::Kind::input: step.kind = TapeStep::input, step.type = uint8_t(from.result); break;
      case Step::Kind::parameter: step.kind = TapeStep::parameter, step.type = uint8_t(compute_dtype(from.result)); break;
      case Step::Kind::cast: step.kind = TapeStep::cast, step.type = uint8_t(from.result), step.from = held_as(from.operand); break;
      case Step::Kind::op: step.kind = TapeStep::op, step.type = uint8_t(from.operand); break;
    }
  }
  const auto result = [&](int r, DType stored) {
    return TapeResult{uint8_t(place[map.values[r]]), uint8_t(stored), held_as(map.results[r])};
  };
  to.result = result(0, p.out);
  for (int i = 0; i < p.n_more; ++i) to.more[i] = result(1 + i, p.more[i]);
  to.n_steps = n, to.n_inputs = p.n_inputs, to.n_more = p.n_more;
  to.post = uint8_t(p.acc), to.post_held = held_as(p.acc), to.out_held = held_as(p.out);
  return true;
}

namespace rows {

struct BroadcastTape {
  static constexpr bool kStandsIn = true;
  static bool accepts(const Problem &p, const Device &) {
    const auto to = std::make_unique<ParamsTape>();
    return size_for(p) != ParamSize::large && write_tape(p, *to);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads;
    c.grid = persistent_grid("broadcast.tape", p, d, ceil_div(p.kept(), int64_t(kThreads)));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &) {
    Instance f;  // one for every map
    f.body = "broadcast_tape", f.arguments = std::string("bool, bool, ") + index_text(p), f.size = ParamSize::tape;
    f.expr = Expr::identity(), f.n_inputs = 1, f.in[0] = DType::bool_;
    return f;
  }
};

}  // namespace rows
}  // namespace tcu::cuda
#endif
