// Of several plans of one problem the one that takes the least time here: they are executed, in turn, on memory of the backend's own.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "plan/backend.h"

namespace tcu {

using Execute = std::function<void(const Plan &, const Execution &)>;

// The index of the fastest; of `favoured` where no other is faster by kWorth. What they work on are zeros, laid out, aligned and out of
// the caches as the problem's operands would be. Waits for `stream`, on which nothing else may be queued meanwhile. Not for segments,
// whose lengths no plan knows. Fails with Code::out_of_memory where the operands cannot be had a second time.
inline constexpr double kWorth = 1.02;
size_t fastest(const std::vector<std::shared_ptr<const Plan>> &plans, size_t favoured, Backend &backend, void *stream,
               const Execute &execute);

}  // namespace tcu
