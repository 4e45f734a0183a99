#include "cpu/state.h"

#include <array>
#include <bit>
#include <cmath>

#include "core/scalar_state.h"

namespace tcu::cpu {
namespace {

template <class A> constexpr DType kAcc = is_same<A, float> ? DType::f32 : DType::f64;

template <class S, class A> S load(const A *state, int64_t pitch) {
  std::array<A, S::kNumbers> numbers;
  for (int k = 0; k < S::kNumbers; ++k) numbers[size_t(k)] = state[k * pitch];
  return std::bit_cast<S>(numbers);
}
template <class S, class A> void combine(void *state, const void *from, int64_t lanes, int64_t pitch) {
  A *__restrict o = static_cast<A *>(state);
  const A *__restrict s = static_cast<const A *>(from);
  for (int64_t j = 0; j < lanes; ++j) {
    const auto numbers = std::bit_cast<std::array<A, S::kNumbers>>(S::combine(load<S>(o + j, pitch), load<S>(s + j, pitch)));
    for (int k = 0; k < S::kNumbers; ++k) o[k * pitch + j] = numbers[size_t(k)];
  }
}

template <class S, class A> void of_nothing(void *state, int64_t pitch) {
  const auto numbers = std::bit_cast<std::array<A, S::kNumbers>>(S::identity());
  for (int k = 0; k < S::kNumbers; ++k) static_cast<A *>(state)[k * pitch] = numbers[size_t(k)];
}

// A tile as the loops of the table see it, with two more of its size.
template <class A> struct Tile {
  const Box &box;
  int64_t kept = 1;
  A *spread_out, *made;
  char *scratch;

  Tile(const Box &b, char *room) : box(b) {
    for (int i = 0; i < b.n; ++i)
      if (b.axis[i]->role == Role::K) kept *= b.extent[i];
    spread_out = reinterpret_cast<A *>(room), made = spread_out + b.elements + 16;
    scratch = reinterpret_cast<char *>(made + b.elements + 16);
  }
  // made = op(tile, what belongs to each kept element)
  void across(Op op, const void *tile, const A *each) {
    spread(box, spread_out, each, sizeof(A));
    table().op[int(op)][int(kAcc<A>)](made, tile, spread_out, nullptr, box.elements);
  }
  void apply(Op op) { table().op[int(op)][int(kAcc<A>)](made, made, nullptr, nullptr, box.elements); }
  void fold(ReduceOp op, const void *tile, A *to) { fold_box(folds(table(), op, kAcc<A>), sizeof(A), box, tile, 0, to, true, scratch); }
};

// The distances from the first elements and their mean, then the squared distances from that (the two-pass algorithm, over a
// tile that is in L1).
template <class A> void moments_of(const Box &box, const void *tile, void *state, int64_t pitch, char *scratch) {
  Tile<A> t(box, scratch);
  A *const origin = static_cast<A *>(state), *const mean = origin + pitch, *const m2 = mean + pitch, *const count = m2 + pitch;
  const A n = A(box.elements / t.kept);
  firsts(box, origin, tile, sizeof(A));
  t.across(Op::sub, tile, origin);
  t.fold(ReduceOp::sum, t.made, mean);
  for (int64_t j = 0; j < t.kept; ++j) mean[j] /= n, count[j] = n;
  t.across(Op::sqdiff, t.made, mean);
  t.fold(ReduceOp::sum, t.made, m2);
}

template <class A> void log_sum_of(const Box &box, const void *tile, void *state, int64_t pitch, char *scratch) {
  Tile<A> t(box, scratch);
  A *const top = static_cast<A *>(state), *const sum = top + pitch;
  t.fold(ReduceOp::max, tile, top);
  for (int64_t j = 0; j < t.kept; ++j) sum[j] = m::isfinite(top[j]) ? top[j] : A(0);  // an infinity less itself is NaN
  t.across(Op::sub, tile, sum);
  t.apply(Op::exp);
  t.fold(ReduceOp::sum, t.made, sum);
}

template <class A, DType acc> void extrema_of(const Box &box, const void *tile, void *state, int64_t pitch, char *scratch) {
  fold_box(folds(table(), ReduceOp::min, acc), sizeof(A), box, tile, 0, state, true, scratch);
  fold_box(folds(table(), ReduceOp::max, acc), sizeof(A), box, tile, 0, static_cast<A *>(state) + pitch, true, scratch);
}

template <class A, class F> void each(void *state, int64_t lanes, F f) {
  A *const x = static_cast<A *>(state);
  for (int64_t j = 0; j < lanes; ++j) x[j] = f(x[j], x + j);
}
template <class A> void mean(void *state, int64_t lanes, int64_t, int64_t n, double) {
  each<A>(state, lanes, [=](A s, A *) { return divided(s, n); });
}
template <class A> void norm(void *state, int64_t lanes, int64_t, int64_t, double) {
  each<A>(state, lanes, [](A s, A *) { return m::sqrt(s); });
}
template <class A, bool root> void variance(void *state, int64_t lanes, int64_t pitch, int64_t n, double correction) {
  each<A>(state, lanes, [=](A, A *at) {
    const Moments<A> s = load<Moments<A>>(at, pitch);
    const A v = s.variance(n, correction);
    at[pitch] = s.center();
    return root ? m::sqrt(v) : v;
  });
}
template <class A, bool logarithm> void log_sum(void *state, int64_t lanes, int64_t pitch, int64_t n, double) {
  each<A>(state, lanes, [=](A, A *at) {
    const LogSum<A> s = load<LogSum<A>>(at, pitch);
    at[pitch] = s.greatest();
    return logarithm ? s.value() : s.relative(n);
  });
}

template <class S, class A> constexpr States states(decltype(States::of_tile) of_tile) { return {of_tile, combine<S, A>, of_nothing<S, A>}; }
template <class A> constexpr States kMoments = states<Moments<A>, A>(moments_of<A>);
template <class A> constexpr States kLogSum = states<LogSum<A>, A>(log_sum_of<A>);
States extrema_states(DType acc) {
  switch (acc) {
#define TCU_DTYPE(id, NAME, name, storage, compute, kind, julia)                     \
  case DType::name:                                                                  \
    if constexpr (is_same<storage, compute> && !is_complex<compute>)                 \
      return states<Extrema<compute>, compute>(extrema_of<compute, DType::name>);    \
    break;
#include "core/dtypes.def"
#undef TCU_DTYPE
    default: break;
  }
  return {};
}

struct Row {
  ReduceOp op;
  States states[2];    // by accumulator: float32, float64
  Finish finish[4];    // and complex of each
};
const Row rows[] = {
    {ReduceOp::mean, {}, {mean<float>, mean<double>, mean<c64_t>, mean<c128_t>}},
    {ReduceOp::var, {kMoments<float>, kMoments<double>}, {variance<float, false>, variance<double, false>}},
    {ReduceOp::std, {kMoments<float>, kMoments<double>}, {variance<float, true>, variance<double, true>}},
    {ReduceOp::norm, {}, {norm<float>, norm<double>}},
    {ReduceOp::logsumexp, {kLogSum<float>, kLogSum<double>}, {log_sum<float, true>, log_sum<double, true>}},
    {ReduceOp::sumexp, {kLogSum<float>, kLogSum<double>}, {log_sum<float, false>, log_sum<double, false>}},
};
const Row *row_of(ReduceOp op) {
  for (const Row &r : rows)
    if (r.op == op) return &r;
  return nullptr;
}
int column(DType acc) { return int(acc) - int(DType::f32); }
static_assert(int(DType::f64) == int(DType::f32) + 1 && int(DType::c64) == int(DType::f32) + 2 && int(DType::c128) == int(DType::f32) + 3);

}  // namespace

States states_of(ReduceOp op, DType acc) {
  if (op == ReduceOp::extrema) return extrema_states(acc);
  return info(op).numbers > 1 ? row_of(op)->states[column(acc)] : States{};
}
Finish finish_of(ReduceOp op, DType acc) {
  const Row *const row = row_of(op);
  return row ? row->finish[column(acc)] : nullptr;
}

}  // namespace tcu::cpu
