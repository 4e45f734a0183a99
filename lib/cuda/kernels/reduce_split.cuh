// reduce.split: few outputs with many elements each ('R', 'R K', 'K R' and so on).
// The elements of one output (contiguous, variants 0, 3 and 4; here and there, variant 5) or of a tile of neighbouring outputs (strided,
// variants 1 and 2) are cut into parts, a block each, so that the whole device has work. The bodies are those of reduce.contiguous,
// reduce.general and reduce.strided; how parts are put together is in device/split.cuh.
#pragma once
#include "kernels/reduce_contiguous.cuh"
#include "kernels/reduce_strided.cuh"

#if !defined(__CUDACC__)
namespace tcu::cuda::rows {

struct ReduceSplit {
  static constexpr int64_t kLeast = 4096;  // elements that a part should have, at the least
#if defined(TCU_EMULATOR)
  static constexpr int kTripBytes = 256;  // so that a small test has groups of parts
#else
  static constexpr int kTripBytes = kPartBytes * kThreads;  // of the parts' states, what a block that puts them together reads at a time
#endif
  static bool contiguous(const Problem &p) { return p.modes.size() > 0 && p.modes[0].role == Role::R && reads_along(p, p.modes[0]); }
  // Whether a cell is a tile of outputs, not one.
  static bool tiled(const Problem &p, const Device &d) { return !contiguous(p) && ReduceStrided::accepts(p, d); }
  // Too few cells to fill the device, and two parts' elements in each.
  static bool accepts(const Problem &p, const Device &d) {
    const int64_t n = cells(p, d);
    return n > 0 && n < busy(p, d) && p.reduced() * cell_width(p, d) >= 2 * kLeast;
  }
  static bool suits(const Problem &p, const Device &d) {
    if (!tiled(p, d)) return p.reduced() * p.n_inputs >= worth(p, d);
    if (ReduceStrided::wide(p)) return ReduceStrided::waits(p, d);
    if (p.reduced() >= 7680) return true;
    const int64_t elements = p.reduced() * p.kept();
    // reduce.general, which else has them, takes 4 us for every million elements, and 6 to 14 where rows of some lines of memory lie one
    // after another (H200, eight random problems: 0.45 to 0.86 of its time).
    if (!ReduceStrided::many(p, d))
      return p.modes.size() == 2 && p.kept() >= 150 ? p.reduced() >= 400 && elements >= 400000
                                                    : p.reduced() >= (elements >= 1 << 21 ? 1024 : p.kept() <= 48 ? 4096 : 7680);
    // Rounds of all threads that a thread for each multiprocessor makes. Of several modes reduce.strided takes longer: of six random
    // problems this row was faster in five, 0.63 to 0.82 of the time, slower in one, 1.10 (H100 and H200).
    const int64_t rounds = p.modes.n_of(Role::R) > 1 ? 30 : p.reduced() >= 600 ? 45 : 80;
    return elements >= rounds * kThreads * d.processors;
  }
  // One run to one output, which has a kernel of its own. (Not of 8-bit elements: there five blocks of it would fit where work is cut for
  // four, and some multiprocessors would have more than others.)
  static bool is_run(const Problem &p) { return p.modes.size() == 1 && ReduceRows::accepts(p) && bytes_of(p.in[0]) > 1; }
  // Elements of a cell, of all inputs, for which it pays to have parts: rounds of a block, 8 accesses a thread, that take as long as to
  // put these together: a round and a half, of two-element accesses as many elements as two and a quarter have (H200, 3,200 random
  // problems). Several rows that are no whole vectors take a block long, the more so if they are short. Outputs for three of five
  // multiprocessors have enough in flight for six rounds: of six random problems reduce.contiguous was faster in all, 0.81 to 0.95 of the
  // time (H100 and H200).
  static int64_t worth(const Problem &p, const Device &d) {
    const bool along = contiguous(p), list = ReduceRows::accepts(p) || p.modes.n_of(Role::R) == 1;
    const int64_t round = 8 * kThreads, vectors = round * vector_of(p, false);
    const struct {
      bool is;
      int64_t elements;
    } kinds[] = {
        {is_run(p), (vector_of(p, false) > 2 ? 2 : 3) * kLeast},  // its kernel is the shorter one without parts too
        {along && list && p.kept() >= d.processors, 12 * vectors},
        {along && list && 5 * p.kept() >= 3 * d.processors, 6 * vectors},
        {along && list, (vector_of(p, false) > 2 ? 6 : 9) * vectors / 4},
        {along && p.modes[0].extent < 32, 2 * kLeast},
        {along && 8 * p.kept() <= busy(p, d), p.modes[0].extent < 200 ? 2 * kLeast : std::max(3 * vectors / 4, 2 * kLeast)},
        {along, std::max(3 * vectors / 2, 8 * kLeast)},
        {true, 2 * kLeast},  // element by element
    };
    return first_kind(kinds).elements;
  }
  // Blocks that keep the memory busy: half of those that a multiprocessor holds where a thread has eight vectors in flight and little to
  // do with them, and where states are of several numbers, of which it costs more to put many together: those of one run (H200, std of 2^24
  // float32 19.8 us for 20.5), and such as are two (logsumexp of 4096 x 4096 over the slow mode 20.8 us for 21.4; variances of it lose).
  static int64_t busy(const Problem &p, const Device &d) {
    const int v = tiled(p, d) ? ReduceStrided::vector(p) : 1;
    const bool any = contiguous(p) && !ReduceRows::accepts(p);
    const int64_t blocks = resident("reduce.split", p, d, v, any ? most_contiguous(p.n_inputs, 16 / vector_of(p, false)) : 4);
    const bool half = v > 1 && !appends(p) && ReduceStrided::in_flight(p) == 8;
    const bool dear = appends(p) && (is_run(p) || (tiled(p, d) && state_bytes(p) <= 8));
    return half || dear ? blocks / 2 : blocks;
  }
  // Blocks that the device holds at a time, of threads with so many states.
  static int64_t resident(const char *row, const Problem &p, const Device &d, int states, int most = 4) {
    return std::min(persistent_grid(row, p, d, INT32_MAX), int64_t(d.processors) * resident_blocks(p, most, states));
  }
  // Outputs in one cell.
  static int64_t cell_width(const Problem &p, const Device &d) { return tiled(p, d) ? lanes(p) * ReduceStrided::vector(p) : 1; }
  // Outputs, or tiles of them.
  static int64_t cells(const Problem &p, const Device &d) {
    return tiled(p, d) ? ceil_div(ReduceStrided::vectors(p), lanes(p)) : p.kept();
  }
  static int lanes(const Problem &p) {  // such that a block has several rows
    return ReduceStrided::lanes_for(p, kThreads / std::max(ReduceStrided::vector(p), 2));
  }
  // Parts of each of n cells, such that the blocks, of which `resident` run at a time, end together: the fewest that keep `enough` of
  // them busy, else those that keep the most.
  static int64_t parts_for(int64_t n, int64_t resident, int64_t most, double enough = 0.875) {
    int64_t best = 1;
    double busiest = 0;
    for (int64_t parts = std::max<int64_t>(resident / n, 1); parts <= std::min(most, 4 * ceil_div(resident, n)); ++parts) {
      const int64_t blocks = n * parts;
      const double busy = double(blocks) / double(ceil_div(blocks, resident) * resident);
      if (busy > busiest) busiest = busy, best = parts;
      if (busy >= enough) break;
    }
    return busiest > 0 ? best : most;
  }
  // Of so many parts of a tile at most, of so many bytes each, as many as let the blocks read its `rows` rows and then the parts' states soonest:
  // a trip of these in 0.6 us (H200), and so is a second ticket, where there are groups of them; those, where one mode is reduced, as many as
  // are in flight in 0.8, but no sooner than the memory gives them (860 KB in 0.2 us, in as much more as parts are fewer). (Variances of four
  // tiles of 3176 rows of 512 bytes, all put together by one block: 132 parts 23.7 us, 25 of them 11.6.)
  static int64_t balanced(const Problem &p, int64_t most, int64_t bytes, int64_t rows) {
    if (p.modes.n_of(Role::R) > 1) return most;
    const int64_t turn = int64_t(ReduceStrided::in_flight(p)) * kThreads / lanes(p), all = p.bytes() / 860000 * most;
    const int64_t trip = std::max<int64_t>(kTripBytes / bytes, 1);
    const auto takes = [&](int64_t parts) {
      const int64_t some = std::min(parts_together(parts, bytes), parts), groups = ceil_div(parts, some);
      const int64_t trips = ceil_div(some, trip) + (groups > 1 ? 1 + ceil_div(groups, trip) : 0);
      return std::max(4 * ceil_div(rows, parts * turn), all / parts) + 3 * trips;
    };
    int64_t best = most;
    for (int64_t parts = (most - 1) / trip * trip; parts > 0; parts -= trip)
      if (takes(parts) < takes(best)) best = parts;
    return best;
  }
  // Parts, of so many of so many bytes each, that one block puts together, a power of two: all, where it reads them in five trips; or as many,
  // about, as there are groups of them then.
  static int64_t parts_together(int64_t parts, int64_t bytes) {
    const bool all = parts * bytes <= 5 * kTripBytes;
    int64_t some = 1;
    while (all ? some < parts : 2 * some * some < parts) some *= 2;
    return some;
  }
  // The workspace of c.split parts of each of n cells: a counter a cell, and of each part `width` states, written one after another, the same
  // of each group of parts, where there are such; or, where there is one state, published.
  static void keep_parts(LaunchConfig &c, const Problem &p, int64_t n, int64_t width, bool published = false) {
    if (c.split <= 1) return;
    const int64_t bytes = width * state_bytes(p);
    c.leaves_zero = true;
    if (published) {
      c.workspace_bytes = c.zeroed_bytes = size_t(counter_bytes(n) + n * c.split * published_words(state_bytes(p)) * 8);
      return;
    }
    c.together = int(parts_together(c.split, bytes)), c.groups = c.together < c.split ? int(ceil_div(c.split, c.together)) : 0;
    c.zeroed_bytes = size_t(counter_bytes(n * (1 + c.groups)));
    c.workspace_bytes = c.zeroed_bytes + size_t(n * (c.split + c.groups) * bytes);
  }
  static LaunchConfig configure(const Problem &p, const Device &d) {
    LaunchConfig c;
    c.block = kThreads;
    int64_t units, elements;  // that are cut, and elements in one
    int64_t turn = 0;         // units of a turn, where parts take turns
    int64_t width = 1;        // outputs of a cell
    if (contiguous(p)) {
      const int64_t rows = ReduceContiguous::rows(p), extent = fastest(p, Role::R)->extent;
      c.lanes = kThreads, c.vector = vector_of(p, false), c.variant = !ReduceRows::accepts(p) ? 0 : is_run(p) ? 4 : 3;
      if (c.variant >= 3) {
        units = p.reduced() / (ReduceRows::kItems * kThreads * c.vector);
        elements = p.reduced() / std::max<int64_t>(units, 1);
      } else {  // pieces of rows, where these are fewer than parts
        c.detail = int(ceil_div(parts_for(cells(p, d), busy(p, d), p.reduced() / kLeast), rows));
        units = rows * c.detail, elements = ceil_div(extent, c.detail);
      }
    } else if (!tiled(p, d)) {
      c.variant = 5, c.lanes = kThreads, c.vector = 1;
      units = p.reduced(), elements = 1;
    } else {
      c.variant = ReduceStrided::wide(p) ? 2 : 1;
      c.lanes = lanes(p), c.vector = ReduceStrided::vector(p);
      c.detail = ReduceStrided::together(p);
      units = p.reduced() / c.detail, elements = int64_t(c.lanes) * c.vector;
      turn = 8 * kThreads / c.lanes;  // as many as a block has in flight
      width = c.detail > 1 ? p.kept() : elements;
    }
    const int64_t n = cells(p, d);
    const int64_t most = std::clamp<int64_t>(units * elements / kLeast, 1, std::max<int64_t>(units, 1));
    int64_t parts = parts_for(n, busy(p, d), most);
    if (tiled(p, d)) parts = balanced(p, parts, width * state_bytes(p), units);
    // Blocks that read neighbours in turn read the faster (H100, 54 of 1000 to 50000 columns: 11 took 0.96 to 0.99 of the time, the others as long), but
    // of several slow modes, or element by element, a turn's beginning costs more.
    const bool turns = n <= 16 || (ReduceStrided::only_columns(p) && ReduceStrided::wide(p));
    c.chunk = turn > 0 && turns && units >= 2 * turn * parts ? turn : ceil_div(units, parts);
    c.split = c.variant == 3 || c.variant == 4 ? parts : std::min(parts, ceil_div(units, c.chunk));
    c.grid = std::min<int64_t>(n * c.split, INT32_MAX);
    keep_parts(c, p, n, width, !tiled(p, d));
    return c;
  }
  static Instance instance(const Problem &p, const LaunchConfig &c) {
    if (c.variant == 4) return make_instance(p, "reduce_run", {ReduceRows::once(p)});
    if (c.variant == 5) return make_instance(p, "reduce_scattered");
    return c.variant == 0 || c.variant == 3 ? ReduceContiguous::instance(p, c) : ReduceStrided::instance(p, c);
  }
};

}  // namespace tcu::cuda::rows
#endif
