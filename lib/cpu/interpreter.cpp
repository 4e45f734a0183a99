#include "cpu/interpreter.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "core/error.h"

namespace tcu::cpu {
namespace {

// 64 bytes more than a power of two apart: tiles that lie a multiple of 4096 apart would share the sets of L1.
size_t slot_bytes(const Program &p, int64_t tile) { return (size_t(tile) * size_t(p.widest) + 63) / 64 * 64 + 64; }

char *allocate(size_t bytes) {
  void *data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!data) fail(Code::out_of_memory, "no %zu bytes of host memory for scratch", bytes);
  return static_cast<char *>(data);
}

struct Kept {
  char *data = nullptr;
  size_t size = 0;
  bool busy = false;
  ~Kept() { std::free(data); }
};
thread_local Kept kept;

}  // namespace

Scratch::Scratch(int threads, size_t bytes) : each_((bytes + 4095) / 4096 * 4096 + 256) {
  const size_t total = each_ * size_t(threads);
  owned_ = kept.busy;
  if (owned_) {
    data_ = allocate(total);
    return;
  }
  if (kept.size < total) {
    std::free(kept.data);
    kept.data = nullptr, kept.size = 0;
    kept.data = allocate(total);
    kept.size = total;
  }
  kept.busy = true;
  data_ = kept.data;
}

Scratch::~Scratch() {
  if (owned_) std::free(data_);
  else kept.busy = false;
}

Numbers::Numbers(const Program &p, const Execution &e) : value(p.parameters.size()) {
  for (size_t i = 0; i < p.parameters.size(); ++i) {
    const Parameter &x = p.parameters[i];
    const Scalar s = x.slot == kAlpha ? e.alpha : x.slot == kBeta ? e.beta : x.slot < 0 ? x.value : e.scalars[x.slot];
    store_compute(value[i].data(), x.dtype, s);
  }
}

size_t Machine::bytes(const Program &p, int64_t tile) {
  return size_t(p.n_slots() + 1) * slot_bytes(p, tile);
}

Machine::Machine(const Program &p, const Numbers &numbers, const DType *dtypes, int64_t tile, char *zone) : program_(&p) {
  const size_t each = slot_bytes(p, tile);
  piece_ = tile;
  for (int i = 0; i < p.n_slots(); ++i) slots_[i] = zone + size_t(i) * each;
  result_ = zone + size_t(p.n_slots()) * each;
  for (int i = 0; i < p.n_inputs; ++i) {
    copies_[i] = static_cast<char *>(slots_[i]);
    input_bytes_[i] = bytes_of(dtypes[i]);
    cached_[i] = nullptr, step_[i] = input_bytes_[i];
  }
  for (int i = 0; i < int(p.parameters.size()); ++i) {
    const int size = bytes_of(compute_dtype(p.parameters[size_t(i)].dtype));
    table().fill(slots_[p.parameter_slot(i)], numbers.value[size_t(i)].data(), tile, size);
  }
}

bool Machine::load(int i, const Box &box, int k, const void *memory) {
  if (!(program_->reads >> i & 1)) {
    step_[i] = 0;
    return false;
  }
  step_[i] = input_bytes_[i];
  if (box.flat(k)) {
    slots_[i] = const_cast<void *>(memory);
    return true;
  }
  slots_[i] = copies_[i];
  const bool one = box.constant(k) && piece_ < box.elements;
  if (one) step_[i] = 0;
  if (cached_[i] == memory && cached_box_[i].same_shape(box)) return false;
  if (one) table().fill(copies_[i], memory, piece_, input_bytes_[i]);
  else gather(box, k, copies_[i], memory, input_bytes_[i]);
  cached_[i] = memory;
  cached_box_[i].n = box.n;
  std::copy_n(box.extent, box.n, cached_box_[i].extent);
  std::copy_n(box.axis, box.n, cached_box_[i].axis);
  return false;
}

}  // namespace tcu::cpu
