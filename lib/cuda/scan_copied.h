// scan.copied: a scan whose inputs lie across its output, in two launches: what the map leaves is written to out, and scanned there.
// That moves out three times, where a kernel that walks along either operand moves the sectors of the other many times.
#pragma once
#include "plan/backend.h"

namespace tcu::cuda::rows {

struct ScanCopied {
  static bool accepts(const Problem &p, const Device &d);
  static bool suits(const Problem &p, const Device &d);
  static LaunchConfig configure(const Problem &p, const Device &d);
  static std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &config, Backend &backend);
  static void launch(const Plan &plan, const Execution &e, Backend &backend);
  static bool compiled(const Plan &plan);
};

}  // namespace tcu::cuda::rows
