// How device work is timed: the same for our runner and for CUB's.
#pragma once
#include <functional>

#include "cases.h"

namespace bench {

// One stream of a device, with what a program has to time it.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual void plug(double us) = 0;  // queues copies that keep the device busy for about so long
  virtual void start() = 0;          // queues an event
  virtual double stop_us() = 0;      // queues another, waits for it; the time between the two
  virtual void synchronize() = 0;
  virtual void *stream() const = 0;  // a CUstream other than the default one
};

// Bytes that one of a plug's copies reads; its buffer has twice as many. It is taken to run at 4 TB/s: a slower device is
// busy longer.
inline constexpr int64_t plug_bytes = int64_t{256} << 20;
inline constexpr double plug_copy_us = 2.0 * plug_bytes / 4e6;

// call(k) queues the case once, on the k-th set of operands (modulo their number). Sets us, us_min, us_spread, method, host_us
// (the mean of a call in a batch), graph_us and graph_cached_us of short work.
void measure(Clock &clock, const std::function<void(int64_t)> &call, const Options &options, Row *row);

// Is it one of those that options.energy names?
bool wants_energy(const Case &c, const Options &options);
// Joules for 10^9 elements of the iteration space, over more than a second of calls back to back; what the idle device takes is not
// counted. Sets joule and idle_watts, where the device says what it consumes. row->us is how long a call takes.
void measure_energy(Clock &clock, const std::function<void(int64_t)> &call, const Case &c, Row *row);

// Several calls that do the same, to be compared with one another: short batches of each in turn. Sets us, us_min, us_spread and
// method of each one's row, in a tenth of the time that measure() takes for each.
void measure_in_turn(Clock &clock, const std::vector<std::function<void(int64_t)>> &calls, const std::vector<Row *> &rows);

}  // namespace bench
