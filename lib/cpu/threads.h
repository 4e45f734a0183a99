// Static splits of work over OpenMP threads: which thread does what depends on the sizes alone, never on timing.
#pragma once
#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace tcu::cpu {

// Below this many elements of work a second thread costs more than it brings (a fork and join is some microseconds).
inline constexpr int64_t kSerialWork = 32 * 1024;

inline int threads_for(int64_t units, int64_t work) {
  if (work < kSerialWork || units < 2 || omp_in_parallel()) return 1;
  return int(std::min<int64_t>(omp_get_max_threads(), units));
}

// f(thread, first, last): each thread gets one contiguous range of the units. f must not throw.
template <class F>
void split(int threads, int64_t units, F &&f) {
  if (threads <= 1) return f(0, int64_t(0), units);
#pragma omp parallel num_threads(threads)
  {
    // The team may be smaller than asked for; ranges then follow the team.
    const int n = omp_get_num_threads(), t = omp_get_thread_num();
    f(t, units * t / n, units * (t + 1) / n);
  }
}

}  // namespace tcu::cpu
