#include "plan/fastest.h"

#include <algorithm>

#include "core/error.h"
#include "core/modes.h"

namespace tcu {
namespace {

constexpr int kRounds = 7;
constexpr int64_t kMostCalls = 16;  // of one sample: as many as the host can queue while the caches are emptied
constexpr double kSample = 0.1;     // milliseconds
constexpr double kFar = 2;          // times the least that one call took, beyond which a plan is not tried again

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Memory for the operands of a problem: as many sets as calls take turns on, and some more to fill the caches with.
class Operands {
 public:
  Operands(const Problem &p, Backend &backend, void *stream) : p_(p), backend_(backend), stream_(stream) {
    double most = 0;
    for (int o = 0; o <= p.n_inputs; ++o) most += double(span(o)) * bytes_of(p.dtype(o)) * (o == 0 ? 1 + p.n_more : 1);
    if (most > double(backend.device().memory_bytes))
      fail(Code::out_of_memory, "operands of %.3g bytes are more than the device has: a kernel cannot be chosen by measuring", most);
    out_ = place(0, p.out);
    for (int i = 0; i < p.n_more; ++i) more_[i] = place(0, p.more[i]);
    for (int i = 0; i < p.n_inputs; ++i) in_[i] = p.in_place && p.in[i] == p.out && lies_as(p, 1 + i, 0) ? out_ : place(1 + i, p.in[i]);
    flush_bytes_ = 2 * backend.device().l2_bytes;
    sets_ = std::clamp<int64_t>(flush_bytes_ / std::max<int64_t>(set_bytes_, 1), 1, kMostCalls);
    const int64_t bytes = sets_ * set_bytes_ + flush_bytes_;
    memory_ = static_cast<char *>(backend.allocate(size_t(bytes), stream));
    backend.zero(memory_, size_t(bytes), stream);
    scalars_.resize(size_t(p.expr->n_scalars()));
  }
  ~Operands() {
    try {
      backend_.release(memory_, stream_);
    } catch (const Error &) {  // of the work before it, and reported there
    }
  }
  Operands(const Operands &) = delete;
  Operands &operator=(const Operands &) = delete;

  // Also keeps the device busy while the host queues what is to be timed.
  void leave_caches() const { backend_.zero(memory_ + sets_ * set_bytes_, size_t(flush_bytes_), stream_); }
  Execution of_call(int64_t call, DType post) const {
    char *const set = memory_ + call % sets_ * set_bytes_;
    Execution e;
    e.stream = stream_;
    e.at.out = set + out_;
    for (int i = 0; i < p_.n_more; ++i) e.at.more[i] = set + more_[i];
    for (int i = 0; i < p_.n_inputs; ++i) e.at.in[i] = set + in_[i];
    e.scalars = scalars_.data();
    e.alpha = e.beta = make_scalar(post, 1);
    if (p_.family == Family::scan) e.init = identity_of(p_.op, p_.acc);
    return e;
  }

 private:
  // Elements from the first to one past the last that an operand's strides reach; before: those before the one at its pointer.
  int64_t span(int operand, int64_t *before = nullptr) const {
    int64_t first = 0, last = 0;
    for (const Mode &m : p_.modes) {
      const int64_t reach = (m.extent - 1) * m.stride[operand];
      (reach < 0 ? first : last) += reach;
    }
    if (before) *before = -first;
    return last - first + 1;
  }
  // Where in a set the element at an operand's pointer is: aligned as the problem says, and no better.
  int64_t place(int operand, DType dtype) {
    constexpr int64_t kAligned = 16;
    int64_t before = 0;
    const int64_t elements = span(operand, &before);
    const int64_t aligned = int64_t(1) << p_.alignment[operand];
    const int64_t at = set_bytes_ + round_up(before * bytes_of(dtype), kAligned) + (aligned < kAligned ? aligned : 0);
    set_bytes_ = round_up(at + (elements - before) * bytes_of(dtype), 256);
    return at;
  }
  const Problem &p_;
  Backend &backend_;
  void *const stream_;
  int64_t set_bytes_ = 0, sets_ = 1, flush_bytes_ = 0;
  int64_t out_ = 0, more_[kMaxResults - 1] = {}, in_[kMaxInputs] = {};  // in a set, in bytes
  char *memory_ = nullptr;
  std::vector<Scalar> scalars_;
};

struct Event {
  explicit Event(Backend &b) : backend(b), event(b.event_create()) {}
  ~Event() {
    try {
      backend.event_destroy(event);
    } catch (const Error &) {
    }
  }
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;
  Backend &backend;
  void *const event;
};

}  // namespace

size_t fastest(const std::vector<std::shared_ptr<const Plan>> &plans, size_t favoured, Backend &backend, void *stream,
               const Execute &execute) {
  if (plans.size() < 2) return favoured;
  const Operands operands(plans[favoured]->problem, backend, stream);
  const Event begin(backend), end(backend);
  const auto milliseconds = [&](const Plan &plan, int64_t calls) {
    operands.leave_caches();
    backend.event_record(begin.event, stream);
    for (int64_t k = 0; k < calls; ++k) execute(plan, operands.of_call(k, plan.post));
    backend.event_record(end.event, stream);
    return double(backend.event_elapsed(begin.event, end.event)) / double(calls);
  };

  std::vector<double> once;
  for (const auto &plan : plans) {
    milliseconds(*plan, 1);  // which loads it
    once.push_back(milliseconds(*plan, 1));
  }
  const double least = *std::min_element(once.begin(), once.end());
  std::vector<std::vector<double>> samples(plans.size());
  for (int round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < plans.size(); ++i) {
      if (once[i] > kFar * least && i != favoured) continue;
      samples[i].push_back(milliseconds(*plans[i], int64_t(std::clamp(kSample / once[i], 1.0, double(kMostCalls)))));
    }
  const auto median = [](std::vector<double> &s) {
    std::nth_element(s.begin(), s.begin() + s.size() / 2, s.end());
    return s[s.size() / 2];
  };
  size_t best = favoured;
  double to_beat = median(samples[favoured]) / kWorth;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (i == favoured || samples[i].empty()) continue;
    if (const double its = median(samples[i]); its < to_beat) best = i, to_beat = its;
  }
  return best;
}

}  // namespace tcu
