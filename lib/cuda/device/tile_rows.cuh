// Rows of a tile on their way to shared memory and back. Where a row begins at the same byte of 16 here and there, the machine copies its words;
// threads copy what is left, single elements. Or the machine copies all words that a row has a part of.
#pragma once
#include "device/bulk.cuh"

namespace tcu::cuda {
// Elements, of so many bytes, of all the words of 16 that a row of `width` may have a part of, wherever it begins.
TCU_FN constexpr int around(int width, int bytes) { return ((width * bytes + 31 - bytes) & ~15) / bytes; }
// The least pitch from `least` on of rows that begin at the same byte of `place` in shared memory as those that lie `along` apart do in global memory, if
// the first one does; and what it may come to. The machine copies words where that is so for 16 bytes, and faster where it is for 128.
template <class Index>
TCU_FN constexpr int pitch_from(int least, int bytes, Index along, int place) {
  return least + int((along - least) & (place / bytes - 1));
}
TCU_FN constexpr int most_pitch_from(int least, int bytes, int place) { return least + place / bytes - 1; }
}  // namespace tcu::cuda

#if defined(TCU_KERNELS)
namespace tcu::cuda {

// Where the elements of input I lie, from the first to behind the last.
template <class T>
struct Span {
  const T *begin, *end;

  template <int I, class P>
  TCU_DEVICE static Span of(const P &p) {
    Span s{static_cast<const T *>(p.in[I]), static_cast<const T *>(p.in[I]) + 1};
#pragma unroll 1
    for (int m = 0; m < p.n_kept + p.n_folded; ++m) {
      const int64_t all = int64_t(p.mode[m].in[I]) * int64_t(p.mode[m].extent - 1);
      (all < 0 ? s.begin : s.end) += all;
    }
    return s;
  }
};

// `height` rows of `width` elements: in memory `across` from one element to the next and `along` from row to row, here 1 and `pitch`.
template <class Index>
struct TileRows {
  int width, height, pitch;
  Index across, along;

  // To shared memory, on arrival. Waits for the launch's turn: what is found out comes before.
  template <class T>
  TCU_DEVICE void fetch(const Arrival &arrival, T *to, const T *from) const {
    constexpr int kSize = int(sizeof(T));
    const int whole = words(from, to);
    await_turn();
    if (whole > 0) arrival.fetch(to, from, whole * kSize, height, pitch * kSize, int64_t(along) * kSize);
    if (whole < width) fetch_singly(arrival, to, from, whole);
  }
  // The same. Of rows that are alike and as far apart as around() says the machine copies all, with what lies beside a row in its first and last words;
  // but not what lies beside the tensor, which is `all`, and of which rows at its ends have a part.
  template <class T>
  TCU_DEVICE void fetch_around(const Arrival &arrival, const Span<T> &all, T *to, const T *from) const {
    constexpr int kSize = int(sizeof(T)), kBack = 16 / kSize - 1;  // the 16 bytes that begin next, from there on, are a row's first
    const int some = around(width, kSize);
    if (pitch < some || !are_alike(from, to)) return fetch(arrival, to, from);
    const T *const last = from + (height - 1) * along, *const low = along < 0 ? last : from, *const high = along < 0 ? from : last;
    if (low - all.begin < kBack || all.end - high < some) return fetch(arrival, to, from);
    await_turn();
    arrival.fetch(to - kBack, from - kBack, some * kSize, height, pitch * kSize, int64_t(along) * kSize);
  }
  // From there. All threads of the block call it; then await_drain().
  template <class T>
  TCU_DEVICE void drain(T *to, const T *from) const {
    constexpr int kSize = int(sizeof(T));
    const int whole = words(to, from);
    if (whole > 0) drain_shared(to, from, whole * kSize, height, pitch * kSize, int64_t(along) * kSize);
    else __syncthreads();
    if (whole == width) return;
#pragma unroll 4
    for (Walk walk(width - whole, int(threadIdx.x), int(blockDim.x)); walk.row < height; walk.next()) {
      T *const row = to + walk.row * along;
      const int k = walk.column < first_word(row) ? walk.column : walk.column + whole;
      row[k * across] = from[walk.row * pitch + k];
    }
  }

 private:
  // Whether every row begins at the same byte of 16 here and there, and an element with it.
  template <class T>
  TCU_DEVICE bool are_alike(const T *global, const T *shared) const {
    constexpr int kSize = int(sizeof(T));
    return across == 1 && bytes_to_16(global) == bytes_to_16(shared) && bytes_to_16(global) % kSize == 0 && (along - pitch) * Index(kSize) % 16 == 0;
  }
  // Elements of each row that are whole words of 16 bytes in both places, whatever row: all of them, or what is left where one begins last
  // in a word. None, if rows are not alike.
  template <class T>
  TCU_DEVICE int words(const T *global, const T *shared) const {
    constexpr int kSize = int(sizeof(T));
    if (!are_alike(global, shared)) return 0;
    const int last = bytes_to_16(global) == 0 && pitch * kSize % 16 == 0 ? 0 : 16 - kSize, bytes = width * kSize - last;
    return bytes > 0 ? (bytes & ~15) / kSize : 0;
  }
  template <class T>
  TCU_DEVICE static int first_word(const T *row) { return bytes_to_16(row) / int(sizeof(T)); }
  // Of every element, neighbours for neighbouring threads.
  struct Walk {
    int width, down, right, row, column;

    TCU_DEVICE Walk(int width, int thread, int threads)
        : width(width), down(threads / width), right(threads - down * width), row(thread / width), column(thread - row * width) {}
    TCU_DEVICE void next() {
      row += down, column += right;
      if (column >= width) column -= width, ++row;
    }
  };
  // What no bulk copy takes, where that leaves out `whole` elements of a row.
  template <class T>
  TCU_DEVICE void fetch_singly(const Arrival &arrival, T *to, const T *from, int whole) const {
    Walk walk(width - whole, arrival.thread, arrival.threads);
    const auto place = [&](const Walk &w) {
      return w.column < first_word(from + w.row * along) ? w.column : w.column + whole;
    };
    if constexpr (sizeof(T) >= 4 && alignof(T) == sizeof(T)) {
#pragma unroll 4
      for (; walk.row < height; walk.next())
        copy_ahead<sizeof(T)>(to + walk.row * pitch + place(walk), from + walk.row * along + place(walk) * across);
    } else {
      constexpr int kItems = sizeof(T) < 4 ? 4 : 2;  // that a thread has in flight
#pragma unroll 1
      while (walk.row < height) {
        T x[kItems];
        Walk ahead = walk;
#pragma unroll
        for (int k = 0; k < kItems; ++k, ahead.next())
          if (ahead.row < height) x[k] = from[ahead.row * along + place(ahead) * across];
#pragma unroll
        for (int k = 0; k < kItems; ++k, walk.next())
          if (walk.row < height) to[walk.row * pitch + place(walk)] = x[k];
      }
    }
  }
};

}  // namespace tcu::cuda
#endif
