// One case on one device: set up, checked, timed.
#pragma once
#include <map>
#include <memory>

#include "cases.h"
#include "data.h"

namespace bench {

class CaseRunner {
 public:
  // cases: all that will be run, so that memory is taken once.
  CaseRunner(const Device &device, const Options &options, const std::vector<Case> &cases);

  ~CaseRunner();
  CaseRunner(const CaseRunner &) = delete;
  CaseRunner &operator=(const CaseRunner &) = delete;

  // Never throws: what went wrong is the row's note.
  Row run(const Case &c);

 private:
  struct Call;  // the case as calls of tcuops.h
  void measure_cuda(Call &call, const Case &c, Row *row);
  void measure_cpu(Call &call, Row *row);

  const Device &device_;
  const Options &options_;
  std::map<std::pair<tcu_dtype_t, std::string>, int64_t> pool_elements_;  // what the largest case needs
  std::map<std::pair<tcu_dtype_t, std::string>, std::unique_ptr<Pool>> pools_;
  Buffer out_, plug_;
  std::vector<void *> events_;
};

}  // namespace bench
