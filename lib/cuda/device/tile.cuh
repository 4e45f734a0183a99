// Neighbours along one mode, of every input, in shared memory; and in their place what becomes of them.
#pragma once
#include "device/bulk.cuh"
#include "device/stages.cuh"

namespace tcu::cuda {

// Bytes of an element's inputs that lie before its output: the output takes the place of the first input that is as wide.
template <class Out>
TCU_FN constexpr int bytes_before_out(Types<>) { return 0; }
template <class Out, class T, class... R>
TCU_FN constexpr int bytes_before_out(Types<T, R...>) {
  return sizeof(T) == sizeof(Out) ? 0 : int(sizeof(T)) + bytes_before_out<Out>(Types<R...>{});
}

// That an element takes.
template <class Inputs, class Out>
TCU_FN constexpr int bytes_in_tile() {
  const int bytes = bytes_of_all<Inputs>::value;
  return bytes_before_out<Out>(Inputs{}) == bytes ? bytes + int(sizeof(Out)) : bytes;
}

#if defined(TCU_KERNELS)

// Room elements of every input, one input after another; a multiple of 16.
template <class Inputs, class Out, int V, int Room>
struct Tile {
  char *start;

  TCU_DEVICE explicit Tile(Slot *shared) : start(reinterpret_cast<char *>(shared)) {}
  TCU_DEVICE Out *out() const { return reinterpret_cast<Out *>(start + bytes_before_out<Out>(Inputs{}) * Room); }

  // Elements at..at+count-1 of `mode` of every input, from o on, to `place` and after it: by the machine's own copy where they are
  // contiguous and begin where 16 bytes do, else one by one.
  template <class P, int N, class Index>
  TCU_DEVICE void fetch(const Arrival &arrival, const P &p, const Offsets<N, Index> &o, int mode, Index at, int place, int count) const {
    fetch<0>(Inputs{}, arrival, p, o, mode, at, start, place, count);
  }
  // V elements of every input from `place` on, a multiple of V.
  TCU_DEVICE void read(Pack<V, Inputs> &pack, int place) const { read_from(pack, start, place); }
  // The outputs at `place` and after it, to `to`, by so many from one to the next. Every thread of the block calls it; then
  // await_drain().
  template <class Index>
  TCU_DEVICE void drain(Out *to, Index stride, int place, int count) const {
    const Out *const from = out() + place;
    const int bytes = stride == 1 && on_16(to) && place * int(sizeof(Out)) % 16 == 0 ? (count * int(sizeof(Out))) & ~15 : 0;
    drain_shared(to, from, bytes);
    for (int i = bytes / int(sizeof(Out)) + int(threadIdx.x); i < count; i += int(blockDim.x)) to[i * stride] = from[i];
  }

 private:
  TCU_DEVICE static bool on_16(const void *p) { return (reinterpret_cast<uint64_t>(p) & 15) == 0; }

  template <int I, class P, int N, class Index>
  TCU_DEVICE void fetch(Types<>, const Arrival &, const P &, const Offsets<N, Index> &, int, Index, char *, int, int) const {}
  template <int I, class P, int N, class Index, class T, class... R>
  TCU_DEVICE void fetch(Types<T, R...>, const Arrival &arrival, const P &p, const Offsets<N, Index> &o, int mode, Index at, char *region,
                        int place, int count) const {
    const Index stride = Index(p.mode[mode].in[I]);
    const T *const from = static_cast<const T *>(p.in[I]) + (o.in[I] + at * stride);
    T *const to = reinterpret_cast<T *>(region) + place;
    const int bytes = stride == 1 && on_16(from) && place * int(sizeof(T)) % 16 == 0 ? (count * int(sizeof(T))) & ~15 : 0;
    arrival.fetch(to, from, bytes);
#pragma unroll 4
    for (int i = bytes / int(sizeof(T)) + int(threadIdx.x); i < count; i += int(blockDim.x)) {
      if constexpr (sizeof(T) >= 4 && alignof(T) == sizeof(T)) copy_ahead<sizeof(T)>(to + i, from + i * stride);
      else to[i] = from[i * stride];
    }
    fetch<I + 1>(Types<R...>{}, arrival, p, o, mode, at, region + Room * int(sizeof(T)), place, count);
  }
  TCU_DEVICE void read_from(Pack<V, Types<>> &, const char *, int) const {}
  template <class T, class... R>
  TCU_DEVICE void read_from(Pack<V, Types<T, R...>> &pack, const char *region, int place) const {
    pack.first = Raw<T, V>::staged(reinterpret_cast<const T *>(region) + place);
    read_from(pack.rest, region + Room * int(sizeof(T)), place);
  }
};

#endif
}  // namespace tcu::cuda
