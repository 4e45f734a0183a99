#include "cpu/post.h"

#include <cstring>

namespace tcu::cpu {
const Program &Stage::choose(const Execution &e) const { return reads_out || !is_one(e.alpha, post) ? scaled : plain; }

Stage make_stage(const Builder &before, DType post, DType out, bool reads_out, int out_input) {
  Stage s;
  s.post = post, s.reads_out = reads_out;
  Builder plain = before, scaled = before;
  if (!reads_out) {
    append_post(plain, post, out, false, false, out_input);
    s.plain = compile(plain, out);
  }
  append_post(scaled, post, out, true, reads_out, out_input);
  s.scaled = compile(scaled, out);
  return s;
}

Stage make_stage(DType post, DType out, bool reads_out) {
  Builder b;
  b.value = b.input(0, post);
  b.result = post;
  return make_stage(b, post, out, reads_out, 1);
}

void store(const Box &box, int k, void *memory, const void *from, int bytes, bool stream, const Ahead &ahead) {
  if (memory == from) return;
  if (!box.flat(k)) return scatter(box, k, memory, from, bytes);
  if (stream) table().stream(memory, from, box.elements * bytes, ahead);
  else std::memmove(memory, from, size_t(box.elements * bytes));
}

}  // namespace tcu::cpu
