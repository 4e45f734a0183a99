#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "energy.h"
#include "graph.h"

namespace bench {
namespace {

constexpr double short_us = 100, energy_seconds = 1.2;

double now_us() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

// Calls from..from+n-1 as one interval; microseconds a call.
double batch_us(Clock &clock, const std::function<void(int64_t)> &call, int64_t from, int64_t n, double plug_us, double *host_us) {
  clock.plug(plug_us);
  clock.start();
  const double start = now_us();
  for (int64_t k = from; k < from + n; k++) call(k);
  if (host_us) *host_us = (now_us() - start) / n;
  return clock.stop_us() / n;
}

// The same work as a CUDA graph of n calls, replayed: -1 where there are no graphs or the call cannot be recorded.
double replay_us(Clock &clock, const std::function<void(int64_t)> &call, int64_t n, int samples) {
  const Graph graph(clock.stream(), [&] {
    for (int64_t k = 0; k < n; k++) call(k);
  });
  if (!graph.ready()) return -1;
  std::vector<double> times;
  for (int s = 0; s <= samples; s++) {
    clock.plug(plug_copy_us);
    clock.start();
    graph.launch(clock.stream());
    const double us = clock.stop_us() / n;
    if (s > 0) times.push_back(us);  // the first launch uploads the graph
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// Joules for 10^9 elements of the iteration space, over more than a second of calls back to back; what the idle device takes
// is not counted.
void measure_energy(Clock &clock, const std::function<void(int64_t)> &call, int64_t n, const Case &c, Row *row) {
  static const EnergyMeter meter;
  if (!meter.works()) return;
  clock.synchronize();
  int64_t calls = 0;
  const double before = meter.joules(), start = now_us();
  double seconds = 0;
  while (seconds < energy_seconds) {
    for (int64_t k = 0; k < n; k++) call(calls++);
    clock.synchronize();
    seconds = (now_us() - start) * 1e-6;
  }
  row->joule = (meter.joules() - before - meter.idle_watts() * seconds) / (double(calls) * double(c.elements())) * 1e9;
  row->idle_watts = meter.idle_watts();
}

}  // namespace

// A sample is a batch of calls, back to back on one stream between two events, each on the next set of operands. It lasts a
// millisecond or more, so the events' own time (a few microseconds) is below half a per cent. Short work is queued behind
// copies that keep the device busy until the host has queued the whole batch: then the interval is what the device needs,
// launch gaps included, and not what the host needs to call.
void measure(Clock &clock, const std::function<void(int64_t)> &call, const Case &c, const Options &options, Row *row) {
  for (int64_t k = 0; k < 2; k++) call(k);
  clock.synchronize();
  double host_us = 0;
  const double us = batch_us(clock, call, 2, 4, 0, &host_us);
  const int64_t n = std::clamp<int64_t>(std::ceil((options.quick ? 600 : 1200) / us), 1, 500);
  const double plug_us = us < short_us ? 1.5 * n * host_us + 50 : 0;
  const int samples = us > 2e4 ? 7 : options.quick ? 9 : 15;
  std::vector<double> times;
  for (int64_t s = 0, k = 6; s < samples; s++, k += n) times.push_back(batch_us(clock, call, k, n, plug_us, nullptr));
  summarize(times, row);
  row->host_us = host_us;
  row->method = plug_us > 0 ? "batch behind a busy device" : "batch";
  if (us < short_us) row->graph_us = replay_us(clock, call, n, 5);
  if (std::find(c.groups.begin(), c.groups.end(), "energy") != c.groups.end()) measure_energy(clock, call, n, c, row);
}

}  // namespace bench
