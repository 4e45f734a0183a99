// Who waits for whom: the block barrier, the warp operations and shared memory, with the rules of the CUDA programming
// guide made strict: a barrier that some thread can no longer reach is an error at the moment when that is certain.
#include "scheduler.h"

#include <cstdlib>
#include <cstring>

namespace emu {
namespace {

constexpr std::size_t max_static_shared = 48 << 10;

const char *barrier_name(BarrierKind kind) {
  switch (kind) {
    case BarrierKind::any: return "__syncthreads_or";
    case BarrierKind::all: return "__syncthreads_and";
    case BarrierKind::count: return "__syncthreads_count";
    default: return "__syncthreads";
  }
}

bool same(Site a, Site b) { return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0); }
bool same(const char *a, const char *b) { return a == b || std::strcmp(a, b) == 0; }

void wake(Thread &t) {
  t.state = State::ready;
  t.block->ready.push_back(&t);
}

}  // namespace

int block_barrier(BarrierKind kind, int predicate, Site site) {
  if (!current) fail("%s", barrier_name(kind));
  Thread &t = *current;
  Block &block = *t.block;
  Warp &warp = block.warps[t.linear / 32];
  if (block.live < block.threads.size())
    fail("barrier divergence: %s at %s:%d, but %zu of %zu threads of the block have ended", barrier_name(kind), site.file,
         site.line, block.threads.size() - block.live, block.threads.size());
  for (unsigned lanes = warp.at_warp; lanes; lanes &= lanes - 1) {
    const Thread &other = block.threads[t.linear / 32 * 32 + unsigned(__builtin_ctz(lanes))];
    if (other.mask >> (t.linear % 32) & 1)
      fail("barrier divergence: %s at %s:%d, but lane %u waits for this one at %s of %s:%d, mask %#x",
           barrier_name(kind), site.file, site.line, other.linear % 32, other.what, other.site.file, other.site.line,
           other.mask);
  }
  if (block.arrived == 0) {
    block.kind = kind;
    block.site = site;
    block.votes = 0;
  } else if (block.kind != kind || !same(block.site, site)) {
    fail("barrier divergence: %s at %s:%d, but %u threads wait at %s of %s:%d", barrier_name(kind), site.file, site.line,
         block.arrived, barrier_name(block.kind), block.site.file, block.site.line);
  }
  block.votes += predicate != 0;
  if (++block.arrived < block.live) {
    warp.at_barrier |= 1u << (t.linear % 32);
    t.state = State::at_barrier;
    suspend(t.fiber, false);
    return block.result;
  }
  block.arrived = 0;
  block.result = kind == BarrierKind::any   ? block.votes != 0
                 : kind == BarrierKind::all ? block.votes == int(block.live)
                                            : block.votes;
  for (Warp &w : block.warps) w.at_barrier = 0;
  for (Thread &other : block.threads)
    if (other.state == State::at_barrier) wake(other);
  launch->spins = launch->preemptions = 0;
  return block.result;
}

// By itself: ASan marks the array, once for all lanes.
[[gnu::noinline]] static void combine_all(const Thread *lanes, unsigned mask, Combine combine) {
  void *all[32] = {};
  for (unsigned i = 0; i < 32; ++i)
    if (mask >> i & 1) all[i] = lanes[i].io;
  combine(all, mask);
}

void warp_collective(const char *what, unsigned mask, void *io, Combine combine, Site site) {
  if (!current) fail("%s", what);
  Thread &t = *current;
  Block &block = *t.block;
  Warp &warp = block.warps[t.linear / 32];
  Thread *const lanes = &block.threads[t.linear / 32 * 32];
  const unsigned self = t.linear % 32;
  if (!(mask >> self & 1)) fail("%s at %s:%d: mask %#x leaves out the calling lane %u", what, site.file, site.line, mask, self);
  if (mask & ~warp.live)
    fail("%s at %s:%d: mask %#x names lanes %#x that have ended or never were", what, site.file, site.line, mask,
         mask & ~warp.live);
  if (mask & warp.at_barrier)
    fail("%s at %s:%d: mask %#x names lanes %#x that wait at the block barrier of %s:%d", what, site.file, site.line, mask,
         mask & warp.at_barrier, block.site.file, block.site.line);
  const auto waits_here = [&](const Thread &other) { return other.mask == mask && other.combine == combine && same(other.what, what); };
  const bool together = warp.together && (!warp.at_warp || waits_here(lanes[__builtin_ctz(warp.at_warp)]));
  unsigned arrived = 1u << self | (together ? warp.at_warp : 0);
  for (unsigned rest = mask & warp.at_warp & ~arrived; rest; rest &= rest - 1) {
    const Thread &other = lanes[__builtin_ctz(rest)];
    if (!(other.mask >> self & 1)) continue;  // in an operation without this lane: it will come
    if (!waits_here(other))
      fail("%s at %s:%d, mask %#x: lane %u waits at another operation: %s of %s:%d, mask %#x", what, site.file, site.line,
           mask, unsigned(__builtin_ctz(rest)), other.what, other.site.file, other.site.line, other.mask);
    arrived |= rest & -rest;
  }
  t.io = io;
  if (arrived != mask) {
    t.what = what;
    t.site = site;
    t.mask = mask;
    t.combine = combine;
    t.state = State::at_warp;
    warp.at_warp |= 1u << self;
    warp.together = together;
    suspend(t.fiber, false);
    return;
  }
  combine_all(lanes, mask, combine);
  warp.at_warp &= ~mask;
  if (!warp.at_warp) warp.together = true;
  for (unsigned i = 0; i < 32; ++i)
    if ((mask >> i & 1) && i != self) wake(lanes[i]);
}

// An allocation of its own for each array, so that ASan guards its two ends.
static void *add_array(Block &block, const void *declaration, const char *name, std::size_t bytes) {
  block.static_bytes += (bytes + 15) / 16 * 16;
  if (block.static_bytes > max_static_shared)
    fail("TCU_SHARED(%s): the kernel's static shared memory passes 48 KiB", name);
  void *memory = nullptr;
  if (posix_memalign(&memory, 16, bytes) != 0) fail("TCU_SHARED(%s): out of host memory", name);
  std::memset(memory, launch->poison, bytes);
  block.shared.push_back({declaration, name, memory, bytes});
  return memory;
}
void *shared_array(const void *declaration, const char *name, std::size_t bytes) {
  if (!current) fail("TCU_SHARED(%s)", name);
  Block &block = *current->block;
  for (const SharedArray &array : block.shared)
    if (array.declaration == declaration) {
      if (array.bytes != bytes) fail("TCU_SHARED(%s): %zu bytes here, %zu in another thread", name, bytes, array.bytes);
      return array.memory;
    }
  return add_array(block, declaration, name, bytes);
}

void cluster_arrive() {
  if (!current) fail("the cluster's barrier");
  Cluster &cluster = *current->block->cluster;
  if (current->awaits > cluster.phase) fail("the thread arrives at the cluster's barrier twice");
  current->awaits = cluster.phase + 1;
  if (++cluster.arrived < cluster.threads) return;
  cluster.arrived = 0;
  ++cluster.phase;
  launch->spins = launch->preemptions = 0;
}
void cluster_wait() {
  if (!current) fail("the cluster's barrier");
  if (!current->awaits) fail("the thread waits at the cluster's barrier and has not arrived");
  while (current->block->cluster->phase < current->awaits) yield();
}
void *shared_of(unsigned rank, const void *at) {
  if (!current) fail("another block's shared memory");
  Block &own = *current->block;
  if (rank >= own.cluster->blocks.size()) fail("shared memory of block %u of a cluster of %zu", rank, own.cluster->blocks.size());
  if (!own.cluster->blocks[rank]) fail("shared memory of block %u of the cluster, which has ended", rank);
  for (const SharedArray &array : own.shared) {
    const std::ptrdiff_t offset = static_cast<const char *>(at) - static_cast<const char *>(array.memory);
    if (offset < 0 || std::size_t(offset) >= array.bytes) continue;
    Block &other = *own.cluster->blocks[rank];
    for (const SharedArray &there : other.shared)
      if (there.declaration == array.declaration) return static_cast<char *>(there.memory) + offset;
    return static_cast<char *>(add_array(other, array.declaration, array.name, array.bytes)) + offset;
  }
  fail("an address of another block's shared memory that is in none of this one's arrays");
}

void *dynamic_shared_memory() {
  if (!current) fail("TCU_DYNAMIC_SHARED");
  return current->block->dynamic;
}

}  // namespace emu
