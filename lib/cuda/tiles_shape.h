// What a block of reduce.tiles has: how many outputs, how many steps a tile, which inputs are copied.
#pragma once
#include <bit>
#include <numeric>

#include "cuda/row.h"
#include "device/tile_rows.cuh"
#include "device/tiles.cuh"

namespace tcu::cuda::rows {

struct TilesShape {
#if defined(TCU_EMULATOR)
  static constexpr int kRoom = 2048, kStep = 256;  // so that a small test has several tiles, and ranges of outputs
#else
  static constexpr int kRoom = 16 << 10;  // bytes of a tile
  static constexpr int kStep = 4 << 10;   // of a step, where there is a choice
#endif
  static constexpr int kRoomOfAll = kRoom * 27 / 2;    // of the tiles of all blocks of a multiprocessor
  static constexpr int kLeastStep = kStep / 4;         // the same where steps are many: of fewer outputs parts are sooner put together
  static constexpr int kWord = 8;                      // bytes that a thread reads at once
  static constexpr int kOutputs = 4 * kThreads;        // of a block
  // What a multiprocessor has under way at once: blocks, and tiles of each, so many or as many more as have `all` bytes; and bytes of a tile, but for a turn
  // of all threads.
  struct UnderWay {
    int blocks, tiles, room, all;
  };
  static constexpr UnderWay kFew{2, 3, kRoom * 27 / 16, kRoom * 5};
  static UnderWay usual(const Problem &p) { return {4, p.n_inputs > 1 ? 3 : 2, kRoom, 0}; }
  struct Shape {
    int64_t within, width;                 // outputs and elements of a row
    int64_t each;                          // rows of a block
    int64_t steps, at_once, turns, cells;  // turns: tiles of a cell
    int tiles;                             // of a block at once
    unsigned staged;                       // the inputs that are copied
    int size, bytes;                       // of an element: of one of these, of all
    bool skewed;                           // steps begin anywhere in 16 bytes, and are no run together
    int64_t pitch;                         // elements of shared memory that a step takes, at most
    bool fixed;                            // the other inputs are the same in every step
    int vector;                            // elements that a thread reads at once
  };
  // The inputs that lie as the leading one does, of as many bytes.
  static unsigned staged(const Problem &p) {
    const int dense = leading_input(p);
    unsigned inputs = 0;
    for (int k = 1; k <= p.n_inputs; ++k) {
      const bool alike = bytes_of(p.dtype(k)) == bytes_of(p.dtype(dense)) && p.alignment[k] == p.alignment[dense];
      inputs |= unsigned(alike && lies_as(p, k, dense)) << (k - 1);
    }
    return inputs;
  }
  // Whether the other inputs are the same in every step; `rows` modes are a row's.
  static bool fixed(const Problem &p, int rows) {
    const unsigned copied = staged(p);
    for (int m = rows + 1; m < p.modes.size(); ++m)
      for (int k = 1; k <= p.n_inputs; ++k)
        if (p.modes[m].role == Role::R && p.modes[m].stride[k] != 0 && (copied >> (k - 1) & 1) == 0) return false;
    return true;
  }
  // at_once is 0 where there is no such shape. resident: blocks that the device holds at a time, if that counts.
  static Shape shape(const Problem &p, int64_t resident = INT32_MAX) {
    const Shape s = shape(p, true, resident);
    return s.at_once > 0 ? s : shape(p, false, resident);
  }
  // within: with a K mode in a row ('K R K R').
  static Shape shape(const Problem &p, bool within, int64_t resident) {
    Shape s{};
    const int dense = leading_input(p), size = bytes_of(p.dtype(dense)), aligned = 1 << p.alignment[dense];
    int rows = within;  // modes of a row
    if (within && (p.modes[0].role != Role::K || p.modes[0].stride[dense] != 1)) return s;
    s.within = s.width = within ? p.modes[0].extent : 1;
    while (rows < p.modes.size() && p.modes[rows].role == Role::R && p.modes[rows].stride[dense] == s.width) s.width *= p.modes[rows++].extent;
    if (p.modes.size() < rows + 2 || aligned < size || (within && rows == 1)) return s;
    const Mode &k = p.modes[rows], &r = p.modes[rows + 1];
    if (k.role != Role::K || r.role != Role::R || k.stride[dense] != s.width || r.stride[dense] == s.width) return s;
    s.staged = staged(p), s.size = size, s.bytes = size * std::popcount(s.staged);
    const int64_t row = s.width * size, period = k.extent * row, all = s.width * s.bytes;
    bool in_16 = aligned >= 16 && period % 16 == 0;
    for (int m = rows + 1; m < p.modes.size(); ++m) in_16 &= p.modes[m].stride[dense] * size % 16 == 0;
    // Rows that the threads have room for. All of the K mode, where a step is one run with the next, and is short, or where some of it would be no
    // whole words or, of columns, short pieces. Or some: in whole words, where steps begin so, and where that comes out even in whole lines of
    // memory, which else two blocks read; or else from anywhere on.
    const int64_t room = std::min<int64_t>({kOutputs / s.within, kAdding * places_in_tile(state_bytes(p)) / s.width, kRoom / 2 / all});
    const int64_t most = std::min<int64_t>(room, kThreads / s.within);  // where there is a choice
    int64_t unit = 16 / std::gcd(int64_t(16), row);
    const bool one_run = r.stride[dense] == k.extent * s.width && k.extent <= room, in_words = in_16 && most >= std::min(unit, k.extent);
    const bool rather = k.extent <= most ? period <= kLeastStep || !in_words : !in_words && s.width == s.within;
    if (one_run && (rather || most == 0)) {
      s.each = k.extent;
    } else if (most > 0) {
      s.skewed = !in_words;
      if (s.skewed) unit = 1;
      else
        for (int64_t bytes = 32; bytes <= 128; bytes *= 2)
          if (const int64_t whole = bytes / std::gcd(bytes, row); whole <= most && k.extent % whole == 0) unit = whole;
      const int64_t step = std::clamp<int64_t>(kRoom / r.extent, s.skewed ? 2 * kLeastStep : kLeastStep, kStep);
      const int64_t ranges = ceil_div(k.extent, std::max(std::min(most, step / row) / unit * unit, unit));
      const auto each = [&](int64_t ranges) { return std::min(k.extent, ceil_div(ceil_div(k.extent, ranges), unit) * unit); };
      s.each = each(ranges);
      // Not a few blocks more than run at a time, if there is room for fewer with more rows (3 x 154587 x 108 float16: 604 blocks 36.5 us, 528 29.0).
      const int64_t outer = p.kept() / (k.extent * s.within), over = ranges * outer % resident, fewer = (ranges * outer - over) / outer;
      if (fewer > 0 && fewer < ranges && 2 * over < resident && each(fewer) <= room) s.each = each(fewer);
    } else {
      return s;
    }
    s.pitch = most_step_pitch(int(s.each * s.width), s.size, r.stride[dense], s.skewed);
    // Those of a word, where every step is words and begins as one.
    s.fixed = fixed(p, rows);
    s.vector = std::min(std::max(kWord / size, 1), places_in_tile(state_bytes(p)));
    bool words = s.fixed && aligned >= s.vector * size && s.each * s.width % s.vector == 0;
    for (int m = rows; m < p.modes.size(); ++m) words &= p.modes[m].stride[dense] * (m == rows ? k.extent : 1) % s.vector == 0;
    if (!words) s.vector = 1;
    s.steps = r.extent;
    s.cells = ceil_div(k.extent, s.each) * (p.kept() / (k.extent * s.within));
    set_tiles(p, s, usual(p));
    return s;
  }
  // Steps of a tile: as many as the threads take at once, or several times as many; of not so many that there is no room for all blocks' tiles.
  static void set_tiles(const Problem &p, Shape &s, UnderWay under_way) {
    const int64_t turn = kAdding / lanes(s) * steps_at_once(p.n_inputs, s.size), step = s.pitch * s.bytes;
    const int64_t fit = std::max<int64_t>(under_way.room / step, 1);
    const bool a_turn = under_way.tiles * turn * step <= kRoomOfAll / under_way.blocks;
    s.at_once = std::min(fit > turn ? fit / turn * turn : a_turn ? turn : fit, s.steps);
    s.tiles = int(std::clamp<int64_t>(under_way.all / (s.at_once * step), under_way.tiles, kMostTiles));
    s.turns = p.reduced() / (s.width / s.within * s.steps) * ceil_div(s.steps, s.at_once);
  }
  // All tiles, and then the states of all threads in their place.
  static int shared_bytes(const Problem &p, const Shape &s) {
    const int64_t states = std::max<int64_t>(kAdding / lanes(s) * s.each * s.width, kThreads);
    const int64_t tiles = s.tiles * std::popcount(s.staged) * tile_room(int(s.at_once * s.pitch * s.size));
    return int(std::max<int64_t>(tiles, states * state_bytes(p)));
  }
  static int64_t tile_bytes(const Shape &s) { return s.at_once * s.each * s.width * s.bytes; }
  static int64_t lanes(const Shape &s) { return std::min<int64_t>(s.each * s.width / s.vector, kAdding); }
};

}  // namespace tcu::cuda::rows
