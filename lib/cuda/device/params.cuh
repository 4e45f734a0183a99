// The one argument of every kernel. Three sizes are instantiated: a launch copies all of it.
#pragma once
#include "core/scalar.h"

namespace tcu::cuda {

// Threads of a block, in every kernel but those whose body has kMostThreads.
inline constexpr int kThreads = 256;
template <class Body>
TCU_FN constexpr int most_threads() {
  if constexpr (requires { Body::kMostThreads; }) return Body::kMostThreads;
  else return kThreads;
}

// Blocks that a multiprocessor is to hold where it can hold `most` of an easy fold: so few that a thread has registers for its states
// and, where they are of several numbers, for what it takes to append to them. (With 64 registers logsumexp of float64 spilled 430 bytes;
// of float32 numbers four states fit.) post_bytes: of the accumulator.
TCU_FN constexpr int resident_blocks(int most, bool appends, int states, int state_bytes, int post_bytes) {
  int blocks = most;
  if (appends) blocks = states > 4 || post_bytes > 4 ? 2 : 4;
  else if (states * state_bytes > 64) blocks = 3;
  else if (state_bytes > 8) blocks = 4;
  return blocks < most ? blocks : most;
}

// Elements of so many bytes that make a word of shared memory; of wider ones one.
TCU_FN constexpr int in_word(int bytes) { return bytes < 4 ? 4 / bytes : 1; }

// A number in its compute type.
struct alignas(16) Slot {
  unsigned char bytes[16];
  template <class T>
  TCU_FN T as() const {
    return *reinterpret_cast<const T *>(bytes);
  }
};

// Division by a number d that is known beforehand (Granlund and Montgomery 1994, "Division by Invariant Integers using
// Multiplication"): n / d == (high half of n * multiplier + n) >> shift, for 0 <= n < 2^31 with a multiplier made for 32 bits,
// for 0 <= n < 2^63 with one made for 64.
struct Divisor {
  uint64_t multiplier;
  uint32_t shift;
};
// The same for 32 bits, where kernels find it themselves.
TCU_FN Divisor divisor_of(uint32_t d) {
  uint32_t shift = 0;
  while ((uint64_t(1) << shift) < d) ++shift;
  return {(((uint64_t(1) << shift) - d) << 32) / d + 1, shift};
}
#if !defined(__CUDACC__)
// d >= 1. The multiplier: 2^bits (2^shift - d) / d + 1 with shift = ceil(log2 d).
inline Divisor divisor(int64_t d, int bits) {
  uint32_t shift = 0;
  while ((uint64_t(1) << shift) < uint64_t(d)) ++shift;
  const auto over = static_cast<unsigned __int128>((uint64_t(1) << shift) - uint64_t(d)) << bits;
  return {uint64_t(over / uint64_t(d) + 1), shift};
}
#endif
TCU_FN int32_t divide(int32_t n, const Divisor &by) {
#if defined(__CUDA_ARCH__)
  const uint32_t high = __umulhi(uint32_t(n), uint32_t(by.multiplier));
#else
  const uint32_t high = uint32_t(uint64_t(uint32_t(n)) * uint32_t(by.multiplier) >> 32);
#endif
  return int32_t((high + uint32_t(n)) >> by.shift);
}
TCU_FN int64_t divide(int64_t n, const Divisor &by) {
#if defined(__CUDA_ARCH__)
  const uint64_t high = __umul64hi(uint64_t(n), by.multiplier);
#else
  const uint64_t high = uint64_t(static_cast<unsigned __int128>(uint64_t(n)) * by.multiplier >> 64);
#endif
  return int64_t((high + uint64_t(n)) >> by.shift);
}

// One canonical mode; strides in elements.
template <int I>
struct ModeOf {
  int64_t extent;
  int64_t out;
  int64_t in[I];
  int64_t weight;   // of positions, in an arg-reduction
  Divisor divisor;  // for as many bits as the problem's indices have
};

// kScales: alpha is not 1. A product with 1 would not be exact: complex (1 + 0i) times infinity has a NaN in it.
// kMean: the sum is divided by how many there are (mean runs the function of sum). kRoot: a root is taken of the result (std runs
// the function of var). kNoLog: none is taken (sumexp runs the function of logsumexp). kFloods, kAtOnce: LaunchConfig's.
enum : int32_t {
  kReadsOut = 1, kExclusive = 2, kReverse = 4, kScales = 8, kRoot = 16, kMean = 32, kNoLog = 64, kFloods = 128, kAtOnce = 256
};

// I inputs, M modes, P numbers that the expression takes by value.
template <int I, int M, int P>
struct Params {
  static constexpr int kInputs = I;
  void *out, *second;         // second: of a fold that has kSecond, of a map with several results
  void *workspace, *zeroed;   // Execution's
  const void *in[I];          // behind the inputs: of segments the offsets; of a map its results from the third on
  int64_t kept, folded;       // products of the extents: of K modes, of R or S modes
  int64_t split, chunk;       // parts that the folded elements are cut into, and how many of them (or rows) each has
  int32_t together, groups;   // LaunchConfig's
  int32_t lanes;              // threads that work together
  int32_t detail;             // what the kernel's file says
  int32_t n_kept, n_folded;   // modes: the K modes first, then R or S, each from the fastest to the slowest
  int32_t flags;
  int32_t selector;           // of the op, in functions that hold several (shipped_broadcast_any.cu)
  int32_t wave, apart;        // LaunchConfig's
  Slot alpha, beta, init;     // in the post type; init in the accumulator's
  double correction;          // of var
  ModeOf<I> mode[M];
  Slot parameter[P];

  TCU_FN bool reads_out() const { return (flags & kReadsOut) != 0; }
  TCU_FN bool scales() const { return (flags & kScales) != 0; }
  TCU_FN bool floods() const { return (flags & kFloods) != 0; }
  TCU_FN bool at_once() const { return (flags & kAtOnce) != 0; }
};
using ParamsSmall = Params<4, 8, 4>;
using ParamsMedium = Params<16, 8, 64>;
using ParamsLarge = Params<16, 64, 256>;
// The same to a function that is compiled for so many modes: what it asks of them is answered then, and the compiler has the less to do.
template <class P, int kKept, int kFolded>
struct OfModes : P {
  static constexpr int32_t n_kept = kKept, n_folded = kFolded;  // hide P's, which say the same
};
template <class P> inline constexpr bool knows_modes = false;
template <class P, int kKept, int kFolded> inline constexpr bool knows_modes<OfModes<P, kKept, kFolded>> = true;
// And where a shipped function has found out.
template <int kKept, int kFolded, class P>
TCU_FN const OfModes<P, kKept, kFolded> &of_modes(const P &p) {
  return static_cast<const OfModes<P, kKept, kFolded> &>(p);  // which has nothing of its own
}
static_assert(sizeof(ParamsMedium) < 4096 && sizeof(ParamsLarge) < 32764);

}  // namespace tcu::cuda
