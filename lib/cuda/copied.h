// Rows of two launches, for operands that lie across each other: what is read is written to out first, as out lies, and worked on there. That
// moves out three times, where a kernel that walks along either operand moves the sectors of the other many times. A reduction has less to write
// than to read, and is worked on first.
#pragma once
#include "plan/backend.h"

namespace tcu::cuda::rows {

struct Copied {
  static void launch(const Plan &plan, const Execution &e, Backend &backend);
  static bool compiled(const Plan &plan);
};

// reduce.copied: a reduction to scratch memory, whose results lie there as what is reduced does, and a copy of these to out.
struct ReduceCopied {
  static bool accepts(const Problem &p, const Device &d);
  static bool suits(const Problem &p, const Device &d);
  static LaunchConfig configure(const Problem &p, const Device &d);
  static std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &config, Backend &backend);
  static void launch(const Plan &plan, const Execution &e, Backend &backend);
  static bool compiled(const Plan &plan) { return Copied::compiled(plan); }
};

// scan.copied: the map of a scan's elements, then a scan of out in place.
struct ScanCopied : Copied {
  static bool accepts(const Problem &p, const Device &d);
  static bool suits(const Problem &p, const Device &d);
  static LaunchConfig configure(const Problem &p, const Device &d);
  static std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &config, Backend &backend);
};

// broadcast.copied: of inputs that lie across out, and across each other, one is copied to out, where the map then reads it.
struct BroadcastCopied : Copied {
  static bool accepts(const Problem &p, const Device &d);
  static bool suits(const Problem &p, const Device &d);
  static LaunchConfig configure(const Problem &p, const Device &d);
  static std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &config, Backend &backend);
  static std::shared_ptr<const void> prepare_now(const Problem &p, const LaunchConfig &config, Backend &backend);
};

}  // namespace tcu::cuda::rows
