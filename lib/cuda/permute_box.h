// The box of modes that a tile of broadcast.permute is (device/tile_box.cuh): of many the one that should take the least time.
#pragma once
#include <algorithm>
#include <numeric>

#include "cuda/row.h"
#include "device/tile_box.cuh"

namespace tcu::cuda::rows {

struct PermuteBox {
  static constexpr int kBytes = 24 << 10;     // of what is turned of a tile
  static constexpr int64_t kFree = 16 << 10;  // so many of them take nothing from the first cache that it would use
  static constexpr double kInCycles = 2.1;   // of an H100 for a nanosecond of an H200, which is 1.2 times as fast: bounds on speeds were found there
  static constexpr int kSector = 32, kLine = 128;  // bytes that are read at a time, and that the caches have at a place

  static int64_t far(const Problem &p, int mode, int k) { return distance(p.modes[mode].stride[k]); }
  // The modes along which operand k is not one element, its closest neighbours' first.
  struct Order {
    int mode[kTileModes] = {}, n = 0;
  };
  static Order order(const Problem &p, int k) {
    Order o;
    for (int m = 0; m < p.modes.size(); ++m) {
      if (far(p, m, k) == kFar) continue;
      int at = o.n++;
      for (; at > 0 && far(p, m, k) < far(p, o.mode[at - 1], k); --at) o.mode[at] = o.mode[at - 1];
      o.mode[at] = m;
    }
    return o;
  }
  // The first input whose neighbours are not along out's fastest mode; or only few of them, and the next ones not along the next mode. Inputs
  // are numbered from 1 on, as operands; 0 if there is none.
  static int guide(const Problem &p) {
    const auto moves = [&](int k) { return p.modes[0].stride[k] != 0; };
    for (int k = 1; k <= p.n_inputs; ++k)
      if (moves(k) && closest(p, k) != 0) return k;
    for (int k = 1; k <= p.n_inputs; ++k) {
      if (!moves(k) || p.modes[0].extent * bytes_of(p.dtype(k)) >= kSector) continue;
      if (const Order o = order(p, k); o.n > 1 && o.mode[1] > 1) return k;
    }
    return 0;
  }
  static int closest(const Problem &p, int k) {  // order(p, k).mode[0], where there is one
    int closest = 0;
    for (int m = 1; m < p.modes.size(); ++m)
      if (far(p, m, k) < far(p, closest, k)) closest = m;
    return closest;
  }
  // Whether input k is read along the guide's rows.
  static bool is_turned(const Problem &p, int g, int k) { return k == g || (jumps(p, k) && far(p, order(p, g).mode[0], k) == 1); }
  static bool jumps(const Problem &p, int k) { return p.modes[0].stride[k] != 0 && far(p, 0, k) > 1; }

  // Whether v neighbours along out (way 0), or along the guide, lie one after another in every operand that is gone through that way, whatever
  // modes they are in, and are whole vectors; or are one element of it.
  static bool whole(const Problem &p, int way, int v) {
    if (v == 1) return true;  // also of complex numbers that are aligned to their parts
    const int g = guide(p);
    const Order along = order(p, way == 0 ? 0 : g);
    for (int k = 0; k <= p.n_inputs; ++k) {
      if (way != (k > 0 && is_turned(p, g, k))) continue;
      const bool once = k > 0 && p.modes[along.mode[0]].stride[k] == 0;
      unsigned within = 0;
      int64_t n = 1;
      for (int i = 0; n % v != 0; ++i) {
        if (i == along.n || p.modes[along.mode[i]].stride[k] != (once ? 0 : n)) return false;
        within |= 1u << along.mode[i], n *= p.modes[along.mode[i]].extent;
      }
      if (!once && !runs_aligned(p, within, k, v)) return false;
    }
    return v <= p.modes[along.mode[0]].extent || way == 0;  // of the guide's a vector is to have one end at most
  }

  struct Chosen {
    TileBox box;
    TileWays ways;
    int vector[2];     // along out, along the guide
    bool beside = false;
    double speed = 0;  // elements that a multiprocessor of an H100 makes in a cycle, roughly
  };
  static constexpr int kRuns[] = {16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 512, 1024, 4096};
  static Chosen choose(const Problem &p) { return remembered(p, [](const Problem &p) { return search(p); }); }
  // Of boxes with runs of so many elements, and of vectors, those that seem to take the least time.
  static Chosen search(const Problem &p) {
    const int g = guide(p), n = p.modes.size();
    const Order orders[] = {order(p, 0), order(p, g)};
    int turned = 0, least = 16;  // bytes of an element in shared memory, of all inputs that are turned, and of the narrowest input
    for (int k = 1; k <= p.n_inputs; ++k) {
      least = std::min(least, bytes_of(p.dtype(k)));
      if (is_turned(p, g, k)) turned += bytes_of(p.dtype(k));
    }
    bool whole[2][5];  // by way, vectors of 1, 2, 4, 8 and 16
    for (int way = 0; way < 2; ++way)
      for (int i = 0; i < 5; ++i) whole[way][i] = 1 << i <= vector_of(p, true) && PermuteBox::whole(p, way, 1 << i);
    Chosen best;
    for (int v = 4; v >= 0; --v)
      for (int w = 4; w >= 0; --w) {
        if (!whole[0][v] || !whole[1][w]) continue;
        TileBox last_row{}, last{};  // longer runs are often the same, of short modes
        last_row.whole = last.whole = -1;
        for (int64_t along : kRuns) {
          TileBox row{};
          int cuts_of_row = 0;
          row.guide = g - 1;
          take(p, row, cuts_of_row, orders[0], along, 1 << v);
          if (same(row, last_row)) continue;
          last_row = row;
          for (int64_t across : kRuns) {
            Chosen c;
            int cuts = cuts_of_row;
            c.box = row, c.vector[0] = 1 << v, c.vector[1] = 1 << w;
            take(p, c.box, cuts, orders[1], across, c.vector[1]);
            fill_cuts(c.box, cuts, n);
            if (same(c.box, last)) continue;
            last = c.box;
            if (fits(p, c, turned, least) && (c.speed = speed(p, c, least)) > best.speed) best = c;
          }
        }
      }
    return best;
  }
  static bool same(const TileBox &a, const TileBox &b) {
    return a.whole == b.whole && std::equal(a.cut, a.cut + 2, b.cut) && std::equal(a.some, a.some + 2, b.some);
  }
  // Adds a run of `target` elements along these modes to the box, whole vectors of v; of a mode that is cut `most` at most.
  static void take(const Problem &p, TileBox &box, int &cuts, const Order &order, int64_t target, int v, int most = kTileCut) {
    int64_t length = 1;
    for (int i = 0; i < order.n; ++i) {
      const int m = order.mode[i];
      const int64_t e = p.modes[m].extent, want = std::max<int64_t>(target / length, 1);
      if (!box.is_whole(m) && e > want) {
        const int64_t even = ceil_div(e, ceil_div(e, want)), grain = v / std::gcd(int64_t(v), length);
        const int64_t some = std::min<int64_t>(ceil_div(even, grain) * grain, most);
        if (some < e) {
          for (int c = 0; c < cuts; ++c)
            if (box.cut[c] == m) return void(box.some[c] = std::max(box.some[c], int(some)));
          if (some > 1 && cuts < 2) box.cut[cuts] = m, box.some[cuts] = int(some), ++cuts;
          return;
        }
      }
      box.whole |= 1 << m, length *= e;
    }
  }
  // Of fewer modes that are cut than two the others are one that is whole, or the last one.
  static void fill_cuts(TileBox &box, int cuts, int n_modes) {
    for (; cuts < 2; ++cuts)
      for (box.some[cuts] = 1; box.cut[cuts] + 1 < n_modes && !box.is_whole(box.cut[cuts]);) ++box.cut[cuts];
  }
  static int64_t tiles(const Problem &p, const TileBox &box) {
    int64_t tiles = 1;
    for (int m = 0; m < p.modes.size(); ++m) tiles *= ceil_div(p.modes[m].extent, box.count(m, p.modes[m].extent));
    return tiles;
  }
  // Elements of a tile of so many, on the average, that are of no other.
  static double elements_there(const Problem &p, const TileBox &box, int64_t all) {
    double there = double(all);
    for (int i = 0; i < 2; ++i) {
      const int64_t e = p.modes[box.cut[i]].extent;
      if (!box.is_whole(box.cut[i])) there *= double(e) / double(box.tiles(i, e) * box.some[i]);
    }
    return there;
  }
  static bool fits(const Problem &p, Chosen &c, int turned, int least) {
    int64_t all = turned;
    for (int m = 0; m < p.modes.size() && all <= kBytes; ++m) all *= c.box.count(m, p.modes[m].extent);
    if (all > kBytes) return false;
    c.ways.find(c.box, p.modes.size(), {kThreads * c.vector[0], kThreads * c.vector[1]}, [&](int m) { return p.modes[m].extent; },
                [&](int m) { return far(p, m, c.box.guide + 1); }, [](int, int, int64_t) { return true; });
    c.ways.set_room(c.vector[1], least);
    bool fits = c.ways.room <= kTileRoom;
    for (int way = 0; way < 2; ++way)
      fits = fits && c.ways.in_row[way] > 0 && c.ways.rows[way] <= kTileRows && in_vectors(p, c, way);
    return fits;
  }
  // Whether a tile's rows are whole vectors, of which a tensor's last tile has all or nothing, too.
  static bool in_vectors(const Problem &p, const Chosen &c, int way) {
    const int v = c.vector[way], fast = c.ways.mode[way][0];
    int64_t n = 1;
    for (int k = 0; n % v != 0; ++k) {
      if (k == c.ways.in_row[way]) return false;
      const int m = c.ways.mode[way][k];
      const int64_t extent = p.modes[m].extent;
      if (far(p, m, way == 0 ? 0 : c.box.guide + 1) != n) return false;
      if (!c.box.is_whole(m)) return n * extent % v == 0 && n * c.ways.count[m] % v == 0 && (way == 0 || c.ways.count[fast] >= v);
      n *= extent;
    }
    return c.ways.length[way] % v == 0 && (way == 0 || c.ways.count[fast] >= v);
  }
  // Whether the guide's rows that are beside each other in shared memory are whole words there, of which a tile has all or nothing.
  static bool in_words(const Problem &p, const Chosen &c, int least) {
    const TileWays &w = c.ways;
    int64_t n = 1;
    for (int k = 0; k < w.in_row[0]; ++k) {
      const int m = w.mode[0][k];
      if (std::find(w.mode[1], w.mode[1] + w.in_row[1], m) != w.mode[1] + w.in_row[1]) break;
      if (!c.box.is_whole(m)) return n * p.modes[m].extent * least % 4 == 0 && n * w.count[m] * least % 4 == 0;
      n *= w.count[m];
    }
    return n * least % 4 == 0;
  }
  // Of operand k's neighbours that a tile goes along one after another, bytes of the lines that they are in, for each of theirs, on the average.
  static double filled(const Problem &p, const Chosen &c, int way, int k) {
    const TileWays &w = c.ways;
    const int64_t size = bytes_of(p.dtype(k));
    int64_t run = 1, apart = 0;  // apart: what divides the distances of runs
    for (int i = 0; i < w.n && far(p, w.mode[way][i], k) == run; ++i) {
      run *= w.count[w.mode[way][i]];
      if (!c.box.is_whole(w.mode[way][i])) break;
    }
    const Order o = order(p, k);
    for (int i = 0; i < o.n; ++i)
      if (far(p, o.mode[i], k) >= run) apart = std::gcd(apart, far(p, o.mode[i], k));
    const int64_t bytes = run * size, begin = std::gcd(std::gcd(run, apart) * size, int64_t(kLine));
    return double(bytes - begin + kLine) / double(bytes);
  }
  // A least squares fit to the times of 800 tiles of 40 copies on an H200: the nanoseconds that one takes, with four blocks of a multiprocessor, of which
  // the middle error is a twentieth.
  static double speed(const Problem &p, Chosen &c, int least) {
    const TileWays &w = c.ways;
    c.beside = least < 4 && in_words(p, c, least);
    int widest = 1;
    for (int k = 1; k <= p.n_inputs; ++k) widest = std::max(widest, bytes_of(p.dtype(k)));
    const int64_t all = int64_t(w.length[0]) * w.rows[0];
    const double there = elements_there(p, c.box, all);
    const int g = c.box.guide + 1, together = c.beside ? 4 / least : 1;
    const int items[] = {permute_items(c.vector[0], widest), permute_items(c.vector[1], widest) / together};  // that a thread has in flight
    const auto rounds = [&](int way, int together) {
      return double(ceil_div(w.rows[way], kThreads / (w.length[way] / c.vector[way]) * items[way] * together));
    };
    const int words = std::max(1, c.vector[0] * least / 4);  // of a vector of out's in shared memory
    double time = 229 + rounds(0, 1) * items[0] * (71 + 22 * words);
    time += rounds(1, together) * (226 + items[1] * (48 * together + 15.5 * c.vector[1]));
    time += 0.16 * double(all) * words / c.vector[0] + 0.041 * double(std::max<int64_t>(all * least - kFree, 0));
    time += there * (0.074 * filled(p, c, 0, 0) * bytes_of(p.out) + 0.031 * filled(p, c, 1, g) * bytes_of(p.dtype(g)));
    for (int k = 1; k <= p.n_inputs; ++k)
      if (!is_turned(p, g, k) && p.modes[0].stride[k] != 0) time += 0.074 * there * bytes_of(p.dtype(k));
    return there * 4 / (time * kInCycles);
  }
};

}  // namespace tcu::cuda::rows
