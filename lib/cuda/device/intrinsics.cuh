// What device code needs of the machine: qualifiers, shared memory, vector accesses, shuffles, ordered loads and stores.
// Every piece of PTX stands here, with a host twin for the emulator. Compiled by nvcc, by NVRTC and by g++ for the emulator.
#pragma once
#include "core/scalar.h"

#if defined(TCU_EMULATOR)
#include <cuda_runtime.h>
#endif

// Defined where kernels can be compiled; host files that include a kernel's header see its launcher only.
#if defined(__CUDACC__) || defined(TCU_EMULATOR)
#define TCU_KERNELS 1

#define TCU_DEVICE __device__ __forceinline__
#if defined(TCU_EMULATOR)
#define TCU_APART __attribute__((noinline))
#else
#define TCU_APART __device__ __noinline__
#define TCU_SHARED(type, name, count) __shared__ type name[count]
// For the machine's own copies (device/bulk.cuh), a tenth slower where the two addresses are not at the same place of 128 bytes.
#define TCU_SHARED_LINES(type, name, count) __shared__ __align__(128) type name[count]
#define TCU_DYNAMIC_SHARED(type, name) extern __shared__ __align__(128) type name[]
#endif

namespace tcu::cuda {

#if !defined(TCU_EMULATOR) && !defined(__CUDACC_RTC__)
// What cudaLaunchKernel takes.
template <auto Kernel>
const void *kernel_address() {
  return reinterpret_cast<const void *>(Kernel);
}
#endif

inline constexpr unsigned kAllLanes = 0xffffffffu;

template <class T, int V>
struct Vec {
  T at[V];
};

// n / d and n % d for n >= 0 and d a power of two, by a shift: a division is some thirty instructions, one after another.
template <class N>
TCU_DEVICE N quotient(N n, int d) {
#if TCU_DEVICE_CODE
  return n >> (31 - __clz(d));
#else
  return n >> (31 - __builtin_clz(unsigned(d)));
#endif
}
template <class N>
TCU_DEVICE N remainder(N n, int d) {
  return n & (d - 1);
}
// i / n of i >= 0 below 2^20, and any n, by 1.0f / n.
TCU_DEVICE int quotient_by(int i, float one_of_n) { return int((float(i) + 0.5f) * one_of_n); }

// The least k such that 2^k is no less than n > 0.
TCU_DEVICE int log2_up(int n) {
#if TCU_DEVICE_CODE
  return 32 - __clz(n - 1);
#else
  return n == 1 ? 0 : 32 - __builtin_clz(unsigned(n - 1));
#endif
}

// n, of which the compiler knows no more than that it is an int: for a counter whose loop it would else unroll four times, whatever the
// pragma says. A kernel has many of those, and short work waits for code that it fetches for the first time.
TCU_DEVICE int opaque(int n) {
#if TCU_DEVICE_CODE
  asm volatile("" : "+r"(n));
#endif
  return n;
}

// Shared memory from an address on that the compiler keeps: that of an array it makes anew at every access, of four instructions.
class SharedLines {
#if TCU_DEVICE_CODE
  unsigned from;

 public:
  TCU_DEVICE explicit SharedLines(const void *lines) : from(unsigned(opaque(int(__cvta_generic_to_shared(lines))))) {}
  TCU_DEVICE uint4 at(int byte) const {  // a multiple of 16
    uint4 x;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(from + byte) : "memory");
    return x;
  }
#else
  const void *from;

 public:
  TCU_DEVICE explicit SharedLines(const void *lines) : from(lines) {}
  TCU_DEVICE uint4 at(int byte) const { return static_cast<const uint4 *>(from)[byte / 16]; }
#endif
};

// p, of which the compiler knows no more than where it points: of a sum of two offsets it would make the address anew from both.
template <class T>
TCU_DEVICE T *opaque(T *p) {
#if TCU_DEVICE_CODE
  asm volatile("" : "+l"(p));
#endif
  return p;
}

template <int Bytes> struct word_of;
template <> struct word_of<1> { using type = unsigned char; };
template <> struct word_of<2> { using type = unsigned short; };
template <> struct word_of<4> { using type = unsigned; };
template <> struct word_of<8> { using type = uint2; };
template <> struct word_of<16> { using type = uint4; };
template <class T, int V> using word_t = typename word_of<int(sizeof(T)) * V>::type;

template <class T, int V>
TCU_DEVICE bool is_aligned(const T *p) {
  return (reinterpret_cast<uint64_t>(p) & (sizeof(T) * V - 1)) == 0;
}
// As SharedLines, of elements of up to 16 bytes, read and written; byte: a multiple of their size.
class SharedElements {
#if TCU_DEVICE_CODE
  unsigned from;

 public:
  TCU_DEVICE explicit SharedElements(void *elements) : from(unsigned(opaque(int(__cvta_generic_to_shared(elements))))) {}
  TCU_DEVICE SharedElements beyond(int bytes) const { return SharedElements(*this, bytes); }
  template <class T>
  TCU_DEVICE void put(int byte, const T &x) const {
    const auto w = __builtin_bit_cast(word_t<T, 1>, x);
    if constexpr (sizeof(T) == 1) asm volatile("st.shared.u8 [%0], %1;" : : "r"(from + byte), "r"(unsigned(w)) : "memory");
    else if constexpr (sizeof(T) == 2) asm volatile("st.shared.u16 [%0], %1;" : : "r"(from + byte), "h"(w) : "memory");
    else if constexpr (sizeof(T) == 4) asm volatile("st.shared.u32 [%0], %1;" : : "r"(from + byte), "r"(w) : "memory");
    else if constexpr (sizeof(T) == 8) asm volatile("st.shared.v2.u32 [%0], {%1, %2};" : : "r"(from + byte), "r"(w.x), "r"(w.y) : "memory");
    else asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" : : "r"(from + byte), "r"(w.x), "r"(w.y), "r"(w.z), "r"(w.w) : "memory");
  }
  template <class T>
  TCU_DEVICE T get(int byte) const {
    word_t<T, 1> w;
    if constexpr (sizeof(T) == 1) {
      unsigned x;
      asm volatile("ld.shared.u8 %0, [%1];" : "=r"(x) : "r"(from + byte) : "memory");
      w = static_cast<unsigned char>(x);
    } else if constexpr (sizeof(T) == 2) asm volatile("ld.shared.u16 %0, [%1];" : "=h"(w) : "r"(from + byte) : "memory");
    else if constexpr (sizeof(T) == 4) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w) : "r"(from + byte) : "memory");
    else if constexpr (sizeof(T) == 8) asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(w.x), "=r"(w.y) : "r"(from + byte) : "memory");
    else asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "r"(from + byte) : "memory");
    return __builtin_bit_cast(T, w);
  }

 private:
  TCU_DEVICE SharedElements(const SharedElements &s, int bytes) : from(s.from + bytes) {}
#else
  char *from;

 public:
  TCU_DEVICE explicit SharedElements(void *elements) : from(static_cast<char *>(elements)) {}
  TCU_DEVICE SharedElements beyond(int bytes) const { return SharedElements(from + bytes); }
  template <class T>
  TCU_DEVICE void put(int byte, const T &x) const {
    *reinterpret_cast<word_t<T, 1> *>(from + byte) = __builtin_bit_cast(word_t<T, 1>, x);
  }
  template <class T>
  TCU_DEVICE T get(int byte) const {
    return __builtin_bit_cast(T, *reinterpret_cast<const word_t<T, 1> *>(from + byte));
  }
#endif
};
// A word of global memory, read here and now: the compiler would put a load of its own behind the condition under which it is used, and
// the next one after that. kStreamed: it is the first that the caches are to forget.
template <bool kStreamed, class W>
TCU_DEVICE W load_word(const W *p) {
  if constexpr (kStreamed) {
    return __ldcs(p);
  } else {
#if TCU_DEVICE_CODE
    W w;
    if constexpr (sizeof(W) == 16) {
      asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(p));
    } else if constexpr (sizeof(W) == 8) {
      asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(w.x), "=r"(w.y) : "l"(p));
    } else if constexpr (sizeof(W) == 4) {
      asm volatile("ld.global.u32 %0, [%1];" : "=r"(w) : "l"(p));
    } else if constexpr (sizeof(W) == 2) {
      asm volatile("ld.global.u16 %0, [%1];" : "=h"(w) : "l"(p));
    } else {
      w = *p;
    }
    return w;
#else
    return *p;
#endif
  }
}
// sizeof(T) * V <= 16 bytes, at an address that is a multiple of that.
template <class T, int V>
TCU_DEVICE void store_vector(T *p, const Vec<T, V> &v) {
  *reinterpret_cast<word_t<T, V> *>(p) = __builtin_bit_cast(word_t<T, V>, v);
}
// V elements as one word where they are one access, and as they are where they are not.
template <class T, int V, bool kWord = (V > 1 && sizeof(T) * V <= 16)>
struct Raw {
  Vec<T, V> elements;
  TCU_DEVICE static Raw of(const Vec<T, V> &e) { return {e}; }
  TCU_DEVICE static Raw load_one(const T *p) {
    static_assert(V == 1);
    if constexpr (alignof(T) == sizeof(T)) return __builtin_bit_cast(Raw, load_word<false>(reinterpret_cast<const word_t<T, 1> *>(p)));
    else return {{{*p}}};
  }
  TCU_DEVICE static Raw staged(const T *p) { return {*reinterpret_cast<const Vec<T, V> *>(p)}; }
  TCU_DEVICE Vec<T, V> get() const { return elements; }
};
template <class T, int V>
struct Raw<T, V, true> {
  word_t<T, V> word;
  TCU_DEVICE static Raw of(const Vec<T, V> &e) { return {__builtin_bit_cast(word_t<T, V>, e)}; }
  template <bool kStreamed = false>
  TCU_DEVICE static Raw load(const T *p) { return {load_word<kStreamed>(reinterpret_cast<const word_t<T, V> *>(p))}; }
  TCU_DEVICE static Raw staged(const T *p) { return {*reinterpret_cast<const word_t<T, V> *>(p)}; }  // in shared memory
  TCU_DEVICE Vec<T, V> get() const { return __builtin_bit_cast(Vec<T, V>, word); }
};

// Shuffles of any trivially copyable type, in words. All lanes of the warp take part.
template <class T>
struct alignas(alignof(T) < 4 ? 4 : alignof(T)) Padded {
  T value;
};
template <int N>
struct Words {
  unsigned at[N];
};
template <class T>
TCU_DEVICE auto words_of(const T &x) {
  Padded<T> padded{};
  padded.value = x;
  return __builtin_bit_cast(Words<int(sizeof(Padded<T>)) / 4>, padded);
}
template <class T, class F>
TCU_DEVICE T by_words(const T &x, F exchange) {
  auto words = words_of(x);
#pragma unroll
  for (unsigned &w : words.at) w = exchange(w);
  return __builtin_bit_cast(Padded<T>, words).value;
}
// a or b, by words: of two structs the compiler would choose an address, and keep both in memory.
template <class T>
TCU_DEVICE T choose(bool first, const T &a, const T &b) {
  auto x = words_of(a);
  const auto y = words_of(b);
#pragma unroll
  for (int i = 0; i < int(sizeof(x) / 4); ++i) x.at[i] = first ? x.at[i] : y.at[i];
  return __builtin_bit_cast(Padded<T>, x).value;
}
template <class T>
TCU_DEVICE T shuffle_xor(const T &x, int lanes) {
  return by_words(x, [=](unsigned w) { return __shfl_xor_sync(kAllLanes, w, lanes); });
}
// From the lane `lanes` below in each group of `width` lanes; lanes without one get their own.
template <class T>
TCU_DEVICE T shuffle_up(const T &x, int lanes, int width) {
  return by_words(x, [=](unsigned w) { return __shfl_up_sync(kAllLanes, w, unsigned(lanes), width); });
}
template <class T>
TCU_DEVICE T shuffle(const T &x, int lane, int width) {
  return by_words(x, [=](unsigned w) { return __shfl_sync(kAllLanes, w, lane, width); });
}

// Arithmetic on parts of a 32-bit word, for T a signed or unsigned integer as long as a part.
// sum + the four bytes of w, each times that of `by` (0 or 1).
template <class T>
TCU_DEVICE int32_t sum_bytes(unsigned w, unsigned by, int32_t sum) {
#if TCU_DEVICE_CODE
  if constexpr (is_signed_int<T>) return __dp4a(int(w), int(by), sum);
  else return int32_t(__dp4a(w, by, unsigned(sum)));
#else
  for (int b = 0; b < 32; b += 8) sum += T(w >> b) * T(by >> b);
  return sum;
#endif
}
// The larger, or smaller, of each of two halves.
template <class T, bool kLarger>
TCU_DEVICE unsigned pick_halves(unsigned x, unsigned y) {
#if TCU_DEVICE_CODE
  if constexpr (is_signed_int<T>) return kLarger ? __vmaxs2(x, y) : __vmins2(x, y);
  else return kLarger ? __vmaxu2(x, y) : __vminu2(x, y);
#else
  unsigned r = 0;
  for (int b = 0; b < 32; b += 16) r |= unsigned(((T(x >> b) > T(y >> b)) == kLarger ? x : y) & 0xffffu << b);
  return r;
#endif
}

// Four of the eight bytes of x and, from number 4 on, y: number (selector >> 4 b) % 8 is byte b, or eight times its sign where bit 3 is set too.
TCU_DEVICE unsigned select_bytes(unsigned x, unsigned y, unsigned selector) {
  unsigned r = 0;
#if TCU_DEVICE_CODE
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(selector));
#else
  for (int b = 0; b < 4; ++b) {
    const unsigned which = selector >> 4 * b, byte = unsigned((uint64_t(y) << 32 | x) >> (8 * (which & 7))) & 255;
    r |= (which & 8 ? (byte & 128 ? 255u : 0) : byte) << 8 * b;
  }
#endif
  return r;
}
// Two 16-bit floats, with one NaN, of positive sign, in place of any.
template <class T>
TCU_DEVICE unsigned one_nan(unsigned w) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 800
  unsigned x;
  if constexpr (is_same<T, f16_t>) asm("max.NaN.f16x2 %0, %1, %1;" : "=r"(x) : "r"(w));
  else asm("max.NaN.bf16x2 %0, %1, %1;" : "=r"(x) : "r"(w));
  return x;
#else
  constexpr unsigned kInfinity = is_same<T, f16_t> ? 0x7c00 : 0x7f80;
  unsigned x = 0;
  for (int b = 0; b < 32; b += 16) x |= ((w >> b & 0x7fff) > kInfinity ? 0x7fffu : w >> b & 0xffff) << b;
  return x;
#endif
}

// Of two words, the 32 bits from bit `at` of the lower one on; at < 32.
TCU_DEVICE unsigned funnel_right(unsigned low, unsigned high, unsigned at) {
#if TCU_DEVICE_CODE
  return __funnelshift_r(low, high, at);
#else
  return unsigned((uint64_t(high) << 32 | low) >> at);
#endif
}

// Half k of each of two words, for k = 0 and 1.
TCU_DEVICE Words<2> turn_halves(const unsigned (&w)[2]) {
#if TCU_DEVICE_CODE
  return {{__byte_perm(w[0], w[1], 0x5410), __byte_perm(w[0], w[1], 0x7632)}};
#else
  return {{(w[0] & 0xffff) | w[1] << 16, w[0] >> 16 | (w[1] & 0xffff0000)}};
#endif
}
// Byte k of each of four words, for k = 0 to 3.
TCU_DEVICE Words<4> turn_bytes(const unsigned (&w)[4]) {
#if TCU_DEVICE_CODE
  const unsigned low[2] = {__byte_perm(w[0], w[1], 0x5140), __byte_perm(w[2], w[3], 0x5140)};   // bytes 0, 0, 1, 1 of two words
  const unsigned high[2] = {__byte_perm(w[0], w[1], 0x7362), __byte_perm(w[2], w[3], 0x7362)};  // 2, 2, 3, 3
  return {{__byte_perm(low[0], low[1], 0x5410), __byte_perm(low[0], low[1], 0x7632), __byte_perm(high[0], high[1], 0x5410),
           __byte_perm(high[0], high[1], 0x7632)}};
#else
  Words<4> turned{};
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 4; ++i) turned.at[k] |= (w[i] >> (8 * k) & 0xff) << (8 * i);
  return turned;
#endif
}

// A word of which the lowest n bits are set: none for n < 0, all for n > 31.
TCU_DEVICE unsigned lowest_bits(int n) {
#if TCU_DEVICE_CODE
  unsigned mask;
  asm("bmsk.clamp.b32 %0, 0, %1;" : "=r"(mask) : "r"(n > 0 ? n : 0));
  return mask;
#else
  return n <= 0 ? 0u : n >= 32 ? ~0u : (1u << n) - 1;
#endif
}

// One word of Bytes from global to shared memory, both aligned to it. From 4 bytes on it arrives behind the thread's back where
// the machine can do that: after await_copies<n>() in all groups of copies but the thread's last n, closed by end_of_copies().
template <int Bytes>
TCU_DEVICE void copy_ahead(void *to, const void *from) {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 800
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(unsigned(__cvta_generic_to_shared(to))), "l"(from) : "memory");
    return;
  } else if constexpr (Bytes >= 4) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 : : "r"(unsigned(__cvta_generic_to_shared(to))), "l"(from), "n"(Bytes) : "memory");
    return;
  }
#endif
  using Word = typename word_of<Bytes>::type;
  *static_cast<Word *>(to) = *static_cast<const Word *>(from);
}
TCU_DEVICE void end_of_copies() {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
template <int N>
TCU_DEVICE void await_copies() {
#if TCU_DEVICE_CODE && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
#endif
}

// Before a kernel looks at what others may write, and writes anything: it waits until what came before it in its stream is done and seen,
// and then lets the launch after it put its blocks where there is room, to wait there in turn. Without a launch that asks for it (launch.cpp)
// a kernel has not to wait. ("Programmatic Dependent Launch", CUDA programming guide.) In this order, whatever begins early finds all done
// but this kernel.
TCU_DEVICE void await_turn() {
#if defined(TCU_EMULATOR)
  emu::await_turn();
#elif TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : : : "memory");
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
#endif
}
// Whether a body does so itself, once it has found out what it is to read: a kernel begins early, and that takes a microsecond or two. It says
// using AwaitsTurn = itself, which those do not inherit that are made of it.
template <class Body>
concept AwaitsTurn = requires { requires is_same<typename Body::AwaitsTurn, Body>; };
// The first thing that a kernel does. The parameters are looked at meanwhile, up to the third mode: the first look at each 64 bytes of them
// is a trip to the L2 cache.
template <class Body, class P>
TCU_DEVICE void begin_in_turn([[maybe_unused]] const P &p) {
#if defined(TCU_EMULATOR)
  if constexpr (AwaitsTurn<Body>) emu::begin_early();
#elif TCU_DEVICE_CODE && __CUDA_ARCH__ >= 900
  unsigned seen = unsigned(reinterpret_cast<uint64_t>(p.out)) ^ unsigned(p.kept) ^ p.alpha.template as<unsigned>();
#pragma unroll
  for (int m = 0; m < 3; ++m) seen ^= unsigned(p.mode[m].extent) ^ p.mode[m].divisor.shift;
  // a use, for else the compiler leaves the looks out: who has seen this number sleeps for no time
  asm volatile("{ .reg .pred q; setp.eq.u32 q, %0, 0x9e3779b9; @q nanosleep.u32 0; }" : : "r"(seen));
#endif
  if constexpr (!AwaitsTurn<Body>) await_turn();
}

// Whether the block may be one of the first, which are there before their turn. Those behind them come after it: what they looked ahead for they
// would ask for twice.
template <class Body>
TCU_DEVICE bool begins_early() {
#if TCU_DEVICE_CODE
  unsigned processors;
  asm("mov.u32 %0, %%nsmid;" : "=r"(processors));
  return blockIdx.x < processors * unsigned(Body::kResident);
#else
  return true;
#endif
}

// Brings what lies around `p` to the second level cache, while nobody waits.
TCU_DEVICE void ask_ahead([[maybe_unused]] const void *p) {
#if TCU_DEVICE_CODE
  asm volatile("prefetch.global.L2 [%0];" : : "l"(p));
#endif
}

// Words between blocks, each whole and without order against other memory.
TCU_DEVICE uint64_t load_relaxed(const uint64_t *p) {
#if TCU_DEVICE_CODE
  uint64_t v;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
#else
#if defined(TCU_EMULATOR)
  emu::preempt();
#endif
  return *p;
#endif
}
TCU_DEVICE void store_relaxed(uint64_t *p, uint64_t v) {
#if TCU_DEVICE_CODE
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
#else
  *p = v;
#endif
}
// Adds one to a counter that blocks share; what it was. kOrdered: what this block had written before a barrier before it is seen, after a
// barrier, by the block that finds a later count; else nobody waits for the answer before it is used. (An addition at an address that is
// the same for all threads the compiler makes one of the warp, whose lanes wait to share out the answer; not this, which would turn round.)
template <bool kOrdered>
TCU_DEVICE unsigned count_up(unsigned *p) {
#if TCU_DEVICE_CODE
  unsigned before;
  if constexpr (kOrdered) asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], 0xfffffffe;" : "=r"(before) : "l"(p) : "memory");
  else asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], 0xfffffffe;" : "=r"(before) : "l"(p) : "memory");
  return before;
#else
  return atomicAdd(p, 1u);
#endif
}

// The number of this block in a launch, such that blocks of lower numbers have begun: it may wait for them. All threads of it call this,
// once in a kernel. The machine begins blocks in the order of blockIdx. The programming guide does not say so, but CUB's scans rest on it
// too (a tile is blockIdx.x), and a count, which a block would have to wait for before its first load, took 2 to 3 % of a scan of 2^28
// elements and 20 % of one of 2^20. The emulator begins blocks in any order, and there they are counted. *counter: zero, and zero again
// when all blocks have begun.
TCU_DEVICE unsigned block_in_order(unsigned *counter) {
#if TCU_DEVICE_CODE
  return blockIdx.x;
#else
  await_turn();
  TCU_SHARED(unsigned, number, 1);
  if (threadIdx.x == 0) {
    number[0] = atomicAdd(counter, 1u);
    if (number[0] + 1 == gridDim.x) *counter = 0;
  }
  __syncthreads();
  return number[0];
#endif
}

}  // namespace tcu::cuda
#endif
