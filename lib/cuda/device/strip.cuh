// Rows of neighbours along one mode, of every input, in shared memory; and in their place what becomes of them.
#pragma once
#include "device/bulk.cuh"
#include "device/map.cuh"

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
    const int words = across == 1 ? words_of_rows(to, from, at, along) : 0;
    if (words > 0)
      drain_shared(to, from, words * int(sizeof(Out)), at.height, pitch * int(sizeof(Out)), int64_t(along) * int(sizeof(Out)));
    else
      __syncthreads();
    if (words == at.width) return;
#pragma unroll 4
    for (Walk walk(at.width - words); walk.row < at.height; walk.next()) {
      Out *const row = to + walk.row * along;
      const int k = walk.column < first_word(row) ? walk.column : walk.column + words;
      row[k * across] = from[walk.row * pitch + k];
    }
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
  // Whether the rows follow each other in global memory as they do here.
  template <class Index>
  TCU_DEVICE bool is_flat(const StripPlace<Index> &at, Index along) const {
    return at.height == 1 || (along == pitch && at.width == pitch);
  }
  // Elements of each row that are whole words of 16 bytes in both places, whatever row: all of them, or what is left where one begins last
  // in a word. None, if rows do not begin at the same byte of 16 here and there.
  template <class T, class Index>
  TCU_DEVICE int words_of_rows(const T *global, const T *shared, const StripPlace<Index> &at, Index along) const {
    constexpr int kSize = int(sizeof(T));
    if (bytes_to_16(global) != bytes_to_16(shared) || bytes_to_16(global) % kSize || (along - pitch) * Index(kSize) % 16) return 0;
    const int last = bytes_to_16(global) == 0 && pitch * kSize % 16 == 0 ? 0 : 16 - kSize, bytes = at.width * kSize - last;
    return bytes > 0 ? (bytes & ~15) / kSize : 0;
  }
  template <class T>
  TCU_DEVICE static int first_word(const T *row) { return bytes_to_16(row) / int(sizeof(T)); }
  // Of every element, neighbours for neighbouring threads.
  struct Walk {
    int width, down, right, row, column;

    TCU_DEVICE explicit Walk(int width)
        : width(width), down(int(blockDim.x) / width), right(int(blockDim.x) - down * width), row(int(threadIdx.x) / width),
          column(int(threadIdx.x) - row * width) {}
    TCU_DEVICE void next() {
      row += down, column += right;
      if (column >= width) column -= width, ++row;
    }
  };
  // What no bulk copy takes, where that leaves out `words` elements of a row.
  template <class T, class Index>
  TCU_DEVICE void fetch_singly(T *to, const T *from, const StripPlace<Index> &at, Index across, Index along, int words) const {
    Walk walk(at.width - words);
    const auto place = [&](const Walk &w) {
      return w.column < first_word(from + w.row * along) ? w.column : w.column + words;
    };
    if constexpr (sizeof(T) >= 4 && alignof(T) == sizeof(T)) {
#pragma unroll 4
      for (; walk.row < at.height; walk.next())
        copy_ahead<sizeof(T)>(to + walk.row * pitch + place(walk), from + walk.row * along + place(walk) * across);
    } else {
      constexpr int kItems = sizeof(T) < 4 ? 4 : 2;  // that a thread has in flight
#pragma unroll 1
      while (walk.row < at.height) {
        T x[kItems];
        Walk ahead = walk;
#pragma unroll
        for (int k = 0; k < kItems; ++k, ahead.next())
          if (ahead.row < at.height) x[k] = from[ahead.row * along + place(ahead) * across];
#pragma unroll
        for (int k = 0; k < kItems; ++k, walk.next())
          if (walk.row < at.height) to[walk.row * pitch + place(walk)] = x[k];
      }
    }
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
      const int words = across == 1 ? words_of_rows(from, begin, at, along) : 0;
      if (words > 0)
        arrival.fetch(begin, from, words * int(sizeof(T)), at.height, pitch * int(sizeof(T)), int64_t(along) * int(sizeof(T)));
      if (words < at.width) fetch_singly(begin, from, at, across, along, words);
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
