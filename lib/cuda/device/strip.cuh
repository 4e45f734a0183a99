// Rows of neighbours along one mode, of every input, in shared memory; and in their place what becomes of them.
#pragma once
#include "device/map.cuh"
#include "device/tile_rows.cuh"

namespace tcu::cuda {

// Bytes that so many elements take, and room to lie in them as they lie in 128 bytes of global memory.
TCU_FN constexpr int strip_bytes(int64_t elements, int size) { return int((elements * size + 127) & ~int64_t(127)) + 128; }

#if defined(TCU_KERNELS)

// Where a strip lies: `width` neighbours of mode 0 from `column` on, in each of `height` steps of mode `along` from `step` on.
template <class Index>
struct StripPlace {
  Index column, step;
  int width, height, along;
};

// Rows of `pitch` elements of every input, one input after another, and the outputs in place of the first input that is as wide. The
// machine copies a tenth more slowly where shared and global memory are not at the same of 128 bytes; so they are, as far as V allows it.
// Vectors of V are read from places that are multiples of V.
template <class Inputs, class Out, int V>
struct Strip {
  static constexpr int N = Inputs::size;
  char *start;
  Out *results;
  int pitch, rows;
  int shift[N > 0 ? N : 1] = {};  // elements by which an input lies further on

  TCU_DEVICE Strip(Slot *shared, int pitch, int rows)
      : start(reinterpret_cast<char *>(shared)), results(nullptr), pitch(pitch), rows(rows) {}

  template <class P, class Index>
  TCU_DEVICE void fetch(const Arrival &arrival, const P &p, const Offsets<N, Index> &o, const StripPlace<Index> &at) {
    fetch<0>(Inputs{}, arrival, p, o, at, start);
    if (!results) {
      const Index across = Index(p.mode[0].out), along = Index(p.mode[at.along].out);
      const Out *const to = static_cast<const Out *>(p.out) + (o.out + at.column * across + at.step * along);
      results = reinterpret_cast<Out *>(start + bytes_before_out(Inputs{})) + shift_of(to);
    }
  }
  // The same, of inputs that are contiguous across, to the second level cache: before the launch's turn.
  template <class P, class Index>
  TCU_DEVICE void look_ahead(const P &p, const Offsets<N, Index> &o, const StripPlace<Index> &at) const {
    look_ahead<0>(Inputs{}, p, o, at);
  }
  TCU_DEVICE void read(Pack<V, Inputs> &pack, int place) const { read_from<0>(pack, start, place); }
  TCU_DEVICE Out *out() const { return results; }
  // What lies behind all of it.
  TCU_DEVICE char *end() const {
    const int before = bytes_before_out(Inputs{});
    return start + (before == bytes_of_inputs(Inputs{}) ? before + strip_bytes(pitch * rows, sizeof(Out)) : bytes_of_inputs(Inputs{}));
  }

  // The outputs, to element `offset` of out and on. All threads of the block call it; then await_drain().
  template <class P, class Index>
  TCU_DEVICE void drain(const P &p, Index offset, const StripPlace<Index> &at) const {
    const Index across = Index(p.mode[0].out), along = Index(p.mode[at.along].out);
    Out *const to = static_cast<Out *>(p.out) + (offset + at.column * across + at.step * along);
    const Out *const from = out();
    const int count = at.width * at.height;
    if (const WholeWords all = across == 1 && is_flat(at, along) ? WholeWords(to, from, count, int(sizeof(Out))) : WholeWords(); all.count > 0) {
      drain_shared(next_16(to), next_16(from), all.count * int(sizeof(Out)));
      for (int i = int(threadIdx.x); i < count - all.count; i += int(blockDim.x)) to[all.skip(i)] = from[all.skip(i)];
      return;
    }
    rows_of(at, across, along).drain(to, from);
  }

 private:
  TCU_DEVICE int bytes_of_inputs(Types<>) const { return 0; }
  template <class T, class... R>
  TCU_DEVICE int bytes_of_inputs(Types<T, R...>) const { return strip_bytes(pitch * rows, sizeof(T)) + bytes_of_inputs(Types<R...>{}); }
  TCU_DEVICE int bytes_before_out(Types<>) const { return 0; }
  template <class T, class... R>
  TCU_DEVICE int bytes_before_out(Types<T, R...>) const {
    return sizeof(T) == sizeof(Out) ? 0 : strip_bytes(pitch * rows, sizeof(T)) + bytes_before_out(Types<R...>{});
  }
  // Elements that `global` lies behind a multiple of 128 bytes.
  template <class T>
  TCU_DEVICE static int shift_of(const T *global) {
    const int bytes = int(reinterpret_cast<uint64_t>(global) & 127);
    return bytes % (V == 1 ? int(sizeof(T)) : 16) == 0 ? bytes / int(sizeof(T)) : 0;
  }
  template <class Index>
  TCU_DEVICE TileRows<Index> rows_of(const StripPlace<Index> &at, Index across, Index along) const {
    return {at.width, at.height, pitch, across, along};
  }
  // Whether the rows follow each other in global memory as they do here.
  template <class Index>
  TCU_DEVICE bool is_flat(const StripPlace<Index> &at, Index along) const {
    return at.height == 1 || (along == pitch && at.width == pitch);
  }
  template <int I, class P, class Index>
  TCU_DEVICE static void look_ahead(Types<>, const P &, const Offsets<N, Index> &, const StripPlace<Index> &) {}
  template <int I, class P, class Index, class T, class... R>
  TCU_DEVICE static void look_ahead(Types<T, R...>, const P &p, const Offsets<N, Index> &o, const StripPlace<Index> &at) {
    const Index across = Index(p.mode[0].in[I]), along = Index(p.mode[at.along].in[I]);
    const T *const from = static_cast<const T *>(p.in[I]) + (o.in[I] + at.column * across + at.step * along);
    if (across == 1) ask_ahead(from, at.width * int(sizeof(T)), at.height, int64_t(along) * int64_t(sizeof(T)));
    look_ahead<I + 1>(Types<R...>{}, p, o, at);
  }
  template <int I, class P, class Index>
  TCU_DEVICE void fetch(Types<>, const Arrival &, const P &, const Offsets<N, Index> &, const StripPlace<Index> &, char *) {}
  template <int I, class P, class Index, class T, class... R>
  TCU_DEVICE void fetch(Types<T, R...>, const Arrival &arrival, const P &p, const Offsets<N, Index> &o, const StripPlace<Index> &at,
                        char *region) {
    const Index across = Index(p.mode[0].in[I]), along = Index(p.mode[at.along].in[I]);
    const T *const from = static_cast<const T *>(p.in[I]) + (o.in[I] + at.column * across + at.step * along);
    T *const to = reinterpret_cast<T *>(region);
    shift[I] = shift_of(from);
    T *const begin = to + shift[I];
    if (sizeof(T) == sizeof(Out) && !results) results = reinterpret_cast<Out *>(begin);
    const int count = at.width * at.height;
    if (const WholeWords all = across == 1 && is_flat(at, along) ? WholeWords(from, begin, count, int(sizeof(T))) : WholeWords(); all.count > 0) {
      arrival.fetch(next_16(begin), next_16(from), all.count * int(sizeof(T)));
      for (int i = int(threadIdx.x); i < count - all.count; i += int(blockDim.x)) begin[all.skip(i)] = from[all.skip(i)];
    } else {
      if constexpr (V == 1) rows_of(at, across, along).fetch_around(arrival, Span<T>::template of<I>(p), begin, from);
      else rows_of(at, across, along).fetch(arrival, begin, from);
    }
    fetch<I + 1>(Types<R...>{}, arrival, p, o, at, region + strip_bytes(pitch * rows, sizeof(T)));
  }
  template <int I>
  TCU_DEVICE void read_from(Pack<V, Types<>> &, const char *, int) const {}
  template <int I, class T, class... R>
  TCU_DEVICE void read_from(Pack<V, Types<T, R...>> &pack, const char *region, int place) const {
    pack.first = Raw<T, V>::staged(reinterpret_cast<const T *>(region) + shift[I] + place);
    read_from<I + 1>(pack.rest, region + strip_bytes(pitch * rows, sizeof(T)), place);
  }
};

#endif
}  // namespace tcu::cuda
