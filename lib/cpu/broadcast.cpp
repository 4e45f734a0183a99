#include "cpu/broadcast.h"

#include "cpu/threads.h"

namespace tcu::cpu {
namespace {

bool any_axis(int) { return true; }

Builder expression(const Problem &p) {
  return p.n_more == 0 ? Builder(*p.expr, p.in, p.n_inputs) : Builder::all_of(*p.expr, p.in, p.n_inputs, p.more);
}

Stage stage_of(const Problem &p) { return make_stage(expression(p), p.acc, p.out, p.reads_out, p.n_inputs); }

bool streams(const Problem &p) { return p.kept() * bytes_of(p.out) >= kStreamBytes && !p.in_place && !p.reads_out; }
int64_t tile_bytes(const Problem &p) { return streams(p) ? kStreamTileBytes : kTileBytes; }

}  // namespace

LaunchConfig configure_broadcast(const Problem &p, void (*cut)(Grid &, int64_t room)) {
  Grid g = Grid::of(p.modes, p.n_operands());
  cut(g, tile_bytes(p) / 4);
  LaunchConfig c;
  c.grid = g.boxes(any_axis);
  return c;
}

std::shared_ptr<const void> prepare_broadcast(const Problem &p, void (*cut)(Grid &, int64_t room)) {
  auto plan = std::make_shared<BroadcastPlan>();
  plan->stage = stage_of(p);
  plan->grid = Grid::of(p.modes, p.n_operands());
  plan->stream = streams(p);
  cut(plan->grid, tile_bytes(p) / plan->stage.scaled.widest);
  plan->inputs.assign(p.in, p.in + p.n_inputs);
  plan->inputs.push_back(p.out);
  return plan;
}

void launch_broadcast(const Plan &plan, const Execution &e, Backend &) {
  const auto &b = *static_cast<const BroadcastPlan *>(plan.prepared.get());
  const Problem &p = plan.problem;
  const Grid &g = b.grid;
  const Program &program = b.stage.choose(e);
  const Numbers numbers(program, e);
  const int64_t tiles = g.boxes(any_axis), tile = g.box_elements();
  const int64_t bytes = bytes_of(p.out);
  // Written straight to the output where it lies flat; not where the output is an input seen as another type.
  bool direct = !b.stream;
  for (int i = 0; i < p.n_inputs; ++i) direct &= !p.in_place || p.in[i] == p.out || e.at.in[i] != e.at.out;

  const int operands = 1 + p.n_inputs;
  const char *base[kMaxOperands] = {static_cast<const char *>(e.at.out)};
  int64_t size[kMaxOperands] = {bytes};
  for (int i = 0; i < p.n_inputs; ++i) base[1 + i] = static_cast<const char *>(e.at.in[i]), size[1 + i] = bytes_of(p.in[i]);
  const int threads = threads_for(tiles, p.kept());
  const Scratch scratch(threads, Machine::bytes(program, tile));
  split(threads, tiles, [&](int thread, int64_t first, int64_t last) {
    Machine machine(program, numbers, b.inputs.data(), tile, scratch.zone(thread));
    const int64_t piece = b.stream ? std::max<int64_t>(kStreamPieceBytes / program.widest, 64) : tile, line = 64 / bytes;
    Walk walk = Walk::over(g, any_axis);
    walk.seek(g, first);
    const char *at[kMaxOperands], *next[kMaxOperands];  // the operands of this tile and of the next one
    const auto locate = [&](const char **to) {
      int64_t offset[kMaxOperands];
      for (int k = 0; k < operands; ++k) offset[k] = 0;  // only these: a tile takes a microsecond or less
      walk.offsets(g, operands, offset);
      for (int k = 0; k < operands; ++k) to[k] = base[k] + offset[k] * size[k];
    };
    // What follows at once is fetched a little ahead, however large the tile.
    const auto fetched = [&](int i, int64_t elements) {
      const int64_t bytes = elements * size[1 + i];
      return next[1 + i] == at[1 + i] + bytes ? at[1 + i] + std::min(bytes, kStreamAheadBytes) : next[1 + i];
    };
    locate(at);
    for (int64_t t = first; t < last; ++t, std::copy_n(next, operands, at)) {
      const Box box(g, walk);
      walk.next(g);
      locate(next);
      char *const out = const_cast<char *>(at[0]);
      const bool pieces = b.stream && box.flat(0);
      machine.in_pieces(pieces ? std::min(tile, piece + line) : tile);
      Ahead ahead;
      for (int i = 0; i < p.n_inputs; ++i)
        if (machine.load(i, box, 1 + i, at[1 + i]) && t + 1 < last) ahead.add(fetched(i, box.elements));
      if (program.n_inputs > p.n_inputs) machine.load(p.n_inputs, box, 0, out);
      const auto more = [&](int i, int64_t done) {
        return static_cast<char *>(e.at.more[i]) + ((out - base[0]) / bytes + done) * bytes_of(p.more[i]);
      };
      if (pieces) {
        // The first piece ends where a cache line does.
        int64_t n = std::min(box.elements, piece + int64_t(-reinterpret_cast<uintptr_t>(out) & 63) / bytes);
        for (int64_t done = 0; done < box.elements; n = std::min(piece, box.elements - done)) {
          table().stream(out + done * bytes, machine.run(machine.tile(), n), n * bytes, ahead.from(done * bytes));
          for (int i = 0; i < p.n_more; ++i) table().stream(more(i, done), machine.more(i), n * bytes_of(p.more[i]), {});
          machine.advance(n), done += n;
        }
        continue;
      }
      void *const to = direct && box.flat(0) ? out : machine.tile();
      store(box, 0, out, machine.run(to, box.elements), int(bytes), b.stream, ahead);
      for (int i = 0; i < p.n_more; ++i) store(box, 0, more(i, 0), machine.more(i), bytes_of(p.more[i]), b.stream);
    }
    flush_streams();
  });
}

}  // namespace tcu::cpu
