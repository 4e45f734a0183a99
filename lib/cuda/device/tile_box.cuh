// A tile of a tensor as a box of modes, and the two ways through it: along out, and along an input that lies in another order.
// (Hynninen and Lyakh 2017, "cuTT: A High-Performance Tensor Transpose Library for CUDA Compatible GPUs", 3.3.)
#pragma once
#include "device/intrinsics.cuh"
#include "device/params.cuh"

namespace tcu::cuda {

inline constexpr int kTileModes = 8;           // of a tensor, at most
inline constexpr int kTileRows = 256;          // of a tile, either way, at most
inline constexpr int kTileCut = 256;           // elements of a mode that is cut, at most
inline constexpr int kTileRoom = (1 << 14) - 1;  // elements in shared memory, at most
inline constexpr int64_t kFar = int64_t(1) << 62;  // how far apart elements are that are the same one: they are the last to go along

// Elements that a thread of broadcast.permute has in flight.
TCU_FN constexpr int permute_items(int vector, int bytes) { return vector > 1 ? 4 : bytes == 1 ? 16 : 8; }
// How far apart an operand's neighbours along a mode are.
TCU_FN constexpr int64_t distance(int64_t stride) { return stride < 0 ? -stride : stride == 0 ? kFar : stride; }

// How many elements of each mode a tile has: all, some (of two modes at most) or one; and the input whose order is the other way. As two
// numbers, which are the kernel's p.detail and p.groups.
struct TileBox {
  int whole;            // a bit for each mode
  int cut[2], some[2];  // modes of which there are some, and how many; one that is whole where there are fewer such
  int guide;            // input

  template <class P>
  TCU_FN static TileBox of(const P &p) {
    return {p.detail & 0xff, {p.detail >> 8 & 7, p.detail >> 11 & 7}, {p.groups & 0xffff, p.groups >> 16}, p.detail >> 14 & 3};
  }
  template <class P>
  TCU_FN void pack(P &p) const {
    p.detail = whole | cut[0] << 8 | cut[1] << 11 | guide << 14, p.groups = some[0] | some[1] << 16;
  }
  TCU_FN bool is_whole(int mode) const { return (whole >> mode & 1) != 0; }
  TCU_FN int count(int mode, int64_t extent) const {
    return is_whole(mode) ? int(extent) : mode == cut[0] ? some[0] : mode == cut[1] ? some[1] : 1;
  }
  // Tiles along one of the modes that are cut.
  template <class Index>
  TCU_FN Index tiles(int c, Index extent) const { return is_whole(cut[c]) ? 1 : (extent - 1) / some[c] + 1; }
};

// From one row to the next: an odd number of words, so that the elements of a column lie in different banks. least: bytes of the narrowest
// element in shared memory.
TCU_FN constexpr int row_pitch(int length, int least) {
  const int unit = in_word(least);
  return ((length + unit - 1) / unit | 1) * unit;
}

// Elements by which every `vector` rows lie further on where a thread has so many elements of a column, and `lanes` neighbouring threads all of
// it, so that what a warp stores at once lies in different banks; or a warp's threads of one column do, where that takes less room.
TCU_FN constexpr int column_skew(int pitch, int lanes, int vector, int least) {
  const int bank = least < 4 ? 4 : least, banks = 128 / bank, columns = lanes < banks && lanes > 0 ? (banks + lanes - 1) / lanes : 1;
  const int skew = (columns - vector * (pitch * least / bank)) & (banks - 1);
  return vector == 1 ? 0 : (skew <= vector ? skew : 1) * bank / least;
}

// A row is a run of the fastest modes; neighbouring threads go along it.
struct TileWays {
  int count[kTileModes];              // elements, by mode
  int n;                              // modes with more than one
  int mode[2][kTileModes];            // these, from the fastest, along out and along the guide; rows are in the other's order
  int in_row[2], length[2], rows[2];  // the first of these are a row; its elements; rows
  int room;                           // elements in shared memory, where the tile stands as out goes through it

  // extent(m), far(m): of mode m the extent, and the distance in the guide. most: elements of a row, by the way. follows(way, m, length): whether mode m
  // is beside a row of so many elements, where it is to be.
  template <class Extent, class Far, class Follows>
  TCU_FN void find(const TileBox &box, int modes, const int (&most)[2], Extent extent, Far far, Follows follows) {
    n = 0;
    int all = 1;
    for (int m = 0; m < modes; ++m) {
      count[m] = box.count(m, extent(m));
      if (count[m] == 1) continue;
      all *= count[m];
      int at = n;
      for (; at > 0 && far(m) < far(mode[1][at - 1]); --at) mode[1][at] = mode[1][at - 1];
      mode[0][n++] = m, mode[1][at] = m;
    }
    for (int way = 0; way < 2; ++way) {
      length[way] = 1, in_row[way] = 0;
      while (in_row[way] < n) {
        const int m = mode[way][in_row[way]];
        if (length[way] * count[m] > most[way] || !follows(way, m, length[way])) break;
        length[way] *= count[m], ++in_row[way];
        if (!box.is_whole(m) || (way == 0 && in_row[0] < n && mode[0][in_row[0]] != m + 1)) break;  // what follows is not beside these
      }
      rows[way] = all / length[way];
    }
    int next = in_row[0];
    for (int i = 0; i < n; ++i)
      if (!is_in_row(0, mode[1][i])) mode[0][next++] = mode[1][i];
    // The guide's rows in the order in which they lie along out's.
    next = in_row[1];
    int others[kTileModes], n_others = 0;
    for (int k = next; k < n; ++k) others[n_others++] = mode[1][k];
    for (int k = 0; k < in_row[0]; ++k)
      for (int i = 0; i < n_others; ++i)
        if (others[i] == mode[0][k]) mode[1][next++] = others[i], others[i] = -1;
    for (int i = 0; i < n_others; ++i)
      if (others[i] >= 0) mode[1][next++] = others[i];
  }
  TCU_FN bool is_in_row(int way, int m) const {
    for (int k = 0; k < in_row[way]; ++k)
      if (mode[way][k] == m) return true;
    return false;
  }
  // Room where rows are row_pitch apart, and skewed (column_skew) for vectors of so many elements along the guide.
  TCU_FN void set_room(int vector, int least) {
    const int pitch = row_pitch(length[0], least), fast = mode[1][0];
    room = pitch * rows[0];
    if (in_row[0] < n && mode[0][in_row[0]] == fast)  // whose elements are rows
      room += column_skew(pitch, length[1] / vector, vector, least) * (count[fast] / vector) * (rows[0] / count[fast]);
  }
};

// The same as the host hands it to the kernel: p.split, p.chunk and p.lanes.
struct PackedWays {
  int64_t orders;  // modes, four bits each: along out, and from bit 32 along the guide
  int64_t sizes;   // from the lowest bit: n, in_row (4 bits each), length (13), rows (12)
  int32_t room;

  TCU_FN static PackedWays of(const TileWays &w) {
    PackedWays to{0, w.n, w.room};
    for (int way = 0; way < 2; ++way) {
      for (int k = 0; k < w.n; ++k) to.orders |= int64_t(w.mode[way][k]) << (32 * way + 4 * k);
      to.sizes |= int64_t(w.in_row[way]) << (4 + 4 * way) | int64_t(w.length[way]) << (12 + 13 * way) | int64_t(w.rows[way]) << (38 + 12 * way);
    }
    return to;
  }
  TCU_FN int mode(int way, int k) const { return int(uint32_t(orders >> (32 * way)) >> (4 * k) & 7); }
  TCU_FN int n() const { return int(sizes & 15); }
  TCU_FN int in_row(int way) const { return int(sizes >> (4 + 4 * way) & 15); }
  TCU_FN int length(int way) const { return int(sizes >> (12 + 13 * way) & 0x1fff); }
  TCU_FN int rows(int way) const { return int(sizes >> (38 + 12 * way) & 0xfff); }
};

#if defined(TCU_KERNELS)
// Elements of a tile by mode, and what a number along several of them is in each.
struct TileCounts {
  int count[kTileModes];
  float one_of[kTileModes];  // 1 / count

  TCU_DEVICE void set(int m, int n) { count[m] = n, one_of[m] = 1.0f / float(n); }
  // In mode m, the fastest of several; number is then what it is in the others. It is below 2^20.
  TCU_DEVICE int take(int m, int &number) const {
    const int rest = quotient_by(number, one_of[m]), at = number - rest * count[m];
    number = rest;
    return at;
  }
};

// Into how many tiles the two modes that are cut are, which a block finds once; thread t calls set for cut t / 32 - 1.
template <class Index>
struct TileCuts {
  Index tiles[2];
  Divisor by_tiles[2];  // of 32 bits

  template <class P>
  TCU_DEVICE void set(const P &p, const TileBox &box, int t) {
    if (t != 32 && t != 64) return;
    const int c = t / 32 - 1;
    tiles[c] = box.tiles(c, Index(p.mode[box.cut[c]].extent));
    if constexpr (sizeof(Index) == 4) by_tiles[c] = divisor_of(uint32_t(tiles[c]));
  }
  // All tiles of a problem.
  template <class P>
  TCU_DEVICE Index all(const P &p, const TileBox &box) const {
    Index n = 1;
#pragma unroll 1
    for (int m = 0; m < p.n_kept; ++m)
      n *= box.is_whole(m) ? 1 : m == box.cut[0] ? tiles[0] : m == box.cut[1] ? tiles[1] : Index(p.mode[m].extent);
    return n;
  }
  // Where along cut c tile number `tile` begins; what it is the number of along all others.
  TCU_DEVICE Index first(const TileBox &box, int c, Index &tile) const {
    Index q;
    if constexpr (sizeof(Index) == 4) q = divide(tile, by_tiles[c]);
    else q = tile / tiles[c];
    const Index first = (tile - q * tiles[c]) * box.some[c];
    tile = q;
    return first;
  }
};

// Tiles after the first ones, which are the blocks', to whoever is done with one, in the order of their numbers: those that have parts of the same lines of
// memory are read at about the same time. p.zeroed: how many have been claimed.
template <class Index>
class TileClaims {
  unsigned *const claimed;
  Index *const told;  // the next one, by turns
  unsigned claim = 0;
  int turn = 0;

 public:
  template <class P>
  TCU_DEVICE explicit TileClaims(const P &p) : claimed(static_cast<unsigned *>(p.zeroed)), told(memory()) {}
  // At the beginning of each tile; and before the block's next barrier, by which the answer is there.
  TCU_DEVICE void ask() {
    if (threadIdx.x == 0) claim = count_up<false>(claimed);
  }
  TCU_DEVICE void tell(Index tiles) {
    if (threadIdx.x != 0) return;
    told[turn] = Index(gridDim.x) + Index(claim);
    if (Index(claim) == tiles - 1) *claimed = 0;  // every tile has asked
  }
  // At the end, after a barrier.
  TCU_DEVICE Index next() {
    const Index tile = told[turn];
    turn ^= 1;
    return tile;
  }

 private:
  TCU_DEVICE static Index *memory() {
    TCU_SHARED(Index, next, 2);
    return next;
  }
};

// W elements of each of G rows that are beside each other in shared memory, to it from `byte` on: those of number w to column[w], in units of `unit` bytes. Of
// several rows what lies in a word is turned in registers.
template <class T, int W, int G>
TCU_DEVICE void put_columns(const SharedElements &tile, int byte, const int (&column)[W], int unit, const Raw<T, W> (&x)[G]) {
  if constexpr (G == 1) {
    const Vec<T, W> e = x[0].get();
#pragma unroll
    for (int w = 0; w < W; ++w) tile.put(byte + column[w] * unit, e.at[w]);
  } else {
    constexpr int kWords = (W + G - 1) / G;
    Words<kWords> rows[G];
#pragma unroll
    for (int g = 0; g < G; ++g) rows[g] = words_of(x[g].get());
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      unsigned of[G];
#pragma unroll
      for (int g = 0; g < G; ++g) of[g] = rows[g].at[i];
      Words<G> columns;
      if constexpr (G == 2) columns = turn_halves(of);
      else columns = turn_bytes(of);
#pragma unroll
      for (int g = 0; g < G; ++g)
        if (i * G + g < W) tile.put(byte + column[i * G + g] * unit, columns.at[g]);
    }
  }
}
// The n words of a thread's vector. Of a warp each n-th part begins with another of them: neighbours' lie n words apart, and the same ones of all would be
// asked of a bank n times.
template <int n>
TCU_DEVICE Words<n> words_at(const SharedElements &tile, int byte) {
  const int turn = int(threadIdx.x) / (32 / n) % n;
  Words<n> w;
#pragma unroll
  for (int i = 0; i < n; ++i) w.at[i] = tile.get<unsigned>(byte + (i + turn) % n * 4);
#pragma unroll
  for (int by = 1; by < n; by *= 2) {  // back to their places
    const Words<n> x = w;
#pragma unroll
    for (int i = 0; i < n; ++i) w.at[i] = turn & by ? x.at[(i + n - by) % n] : x.at[i];
  }
  return w;
}
// V neighbours in shared memory, from `byte` on; of less than words, and of words, so many as are whole words there.
template <class T, int V>
TCU_DEVICE Vec<T, V> neighbours_at(const SharedElements &tile, int byte) {
  if constexpr (sizeof(T) <= 4 && V * sizeof(T) % 4 == 0) {
    return __builtin_bit_cast(Vec<T, V>, words_at<V * int(sizeof(T)) / 4>(tile, byte));
  } else {
    Vec<T, V> e;
#pragma unroll
    for (int v = 0; v < V; ++v) e.at[v] = tile.get<T>(byte + v * int(sizeof(T)));
    return e;
  }
}
#endif

// Bytes of one input's part of a tile in shared memory.
TCU_FN constexpr int tile_part_bytes(int room, int element) { return (room * element + 15) / 16 * 16; }

}  // namespace tcu::cuda
