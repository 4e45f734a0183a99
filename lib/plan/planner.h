// The one decision point: Problem -> Plan.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/backend.h"
#include "plan/cache.h"

namespace tcu {

// What a problem is run as: an empty reduction that has a value as a fill, and one over modes of extent 1, unless it is pinned, as a
// broadcast, or as a fill where it asks for positions.
Problem as_run(const Problem &asked, bool pinned);
// The first of the rows that accepts the problem and suits it; null if there is none.
const Kernel *choose(std::span<const Kernel> rows, const Problem &p, const Device &d);

// The plan of a problem on a row, which is to accept it. now: null where prepare_now gives that.
std::shared_ptr<const Plan> plan_on(const Kernel &row, const Problem &p, Backend &backend, bool now = false);

class Planner {
 public:
  static constexpr size_t kCapacity = 4096;
  // In place of a row's name: every row that accepts the problem is timed, and the fastest is kept.
  static constexpr std::string_view kMeasured = "measured";
  explicit Planner(std::unique_ptr<Backend> backend);
  ~Planner();

  Backend &backend() { return *backend_; }
  // On the row that is chosen by rule, the one named by `pin`, or the fastest (kMeasured); cached.
  // Fails with Code::kernel if the pin is unknown or does not accept.
  std::shared_ptr<const Plan> plan(const Problem &problem, const char *pin);
  // For one execution in `stream`. It does not wait for a compiler where a row stands in meanwhile; for that of a recording it does, which is to
  // be run again, and under TCUOPS_STAND_IN=off. Results have the same bits either way.
  std::shared_ptr<const Plan> plan_now(const Problem &problem, const char *pin, void *stream);
  void execute(const Plan &plan, const Execution &execution, size_t workspace_bytes);

  int64_t calls(int row) const { return calls_[size_t(row)].load(std::memory_order_relaxed); }

 private:
  // A plan holds the values of its expression's constants, and two equal Problems may differ in them. P: Problem, or a reference to ask.
  template <class P, class Text>
  struct KeyOf {
    P problem;
    Text pin;
    uint64_t hash;
    template <class Q, class Other>
    bool operator==(const KeyOf<Q, Other> &o) const {
      return hash == o.hash && problem == o.problem && pin == o.pin && problem.expr->same_constants(*o.problem.expr);
    }
  };
  using Asked = KeyOf<const Problem &, std::string_view>;
  static Asked asked(const Problem &problem, const char *pin);
  std::shared_ptr<const Plan> keep(const Asked &asked, std::shared_ptr<const Plan> plan);

  std::shared_ptr<const Plan> make(const Problem &problem, std::string_view pin, bool now);
  std::shared_ptr<const Plan> stand_in(const Problem &asked);  // null if no row does
  const Kernel &named(std::string_view pin, const Problem &problem) const;
  std::shared_ptr<const Plan> measured(const Problem &problem, const Kernel &chosen);
  void launch(const Plan &plan, const Execution &execution, size_t workspace_bytes);  // execute, not counted

  using Key = KeyOf<Problem, std::string>;
  struct KeyHash {
    template <class K>
    size_t operator()(const K &k) const { return k.hash; }
  };
  std::unique_ptr<Backend> backend_;
  const bool may_stand_in_;
  LruCache<Key, std::shared_ptr<const Plan>, KeyHash> cache_{kCapacity};
  std::vector<std::atomic<int64_t>> calls_;
  std::mutex measuring_;     // one problem at a time
  void *stream_ = nullptr;   // for that; made by the first, and kept, for a stream's scratch is never given back
};

}  // namespace tcu
