// One case on one device: set up, checked, timed.
#pragma once
#include <map>
#include <memory>

#include "cases.h"
#include "check.h"
#include "data.h"

namespace bench {

class CaseRunner {
 public:
  // cases: all that will be run, so that memory is taken once.
  CaseRunner(const Device &device, const Options &options, const std::vector<Case> &cases);

  ~CaseRunner();
  CaseRunner(const CaseRunner &) = delete;
  CaseRunner &operator=(const CaseRunner &) = delete;

  // A row for each of options.kernels that takes the case, or the planner's; with options.all_kernels or options.once the planner's
  // choice first and then every other kernel that takes it. Never throws: what went wrong is the row's note.
  std::vector<Row> run(const Case &c);
  // A line about each of options.kernels that did not take some of the cases so far.
  std::vector<std::string> refused() const;
  // Plans it on the same kernels, on no memory. What cannot be planned is left to run().
  void plan(const Case &c);

 private:
  struct Call;  // the case as calls of tcuops.h
  Pool &pool_of(const Case &c);
  void verify(Call &call, const Case &c, const Reference &reference, Row *row);
  void measure_all(const std::vector<std::unique_ptr<Call>> &calls, const Case &c, std::vector<Row> &rows);
  void profile_all(const std::vector<std::unique_ptr<Call>> &calls, std::vector<Row> &rows);
  void measure_cuda(Call &call, const Case &c, Row *row);
  void measure_cpu(Call &call, Row *row);

  const Device &device_;
  const Options &options_;
  const int64_t cache_bytes_;  // that the operands are rotated out of; 0: a profiler empties the caches itself
  std::vector<std::string> kernels_;  // to run a case on; "": as the planner chooses
  struct Refusals {
    int count = 0;
    std::string first;  // which case, and why
  };
  std::map<std::string, Refusals> refused_;  // of kernels_
  int tried_ = 0;                            // cases
  std::map<std::pair<tcu_dtype_t, std::string>, int64_t> pool_elements_;  // what the largest case needs
  std::map<std::pair<tcu_dtype_t, std::string>, std::unique_ptr<Pool>> pools_;
  Buffer out_, plug_;
  std::vector<void *> events_;
};

}  // namespace bench
