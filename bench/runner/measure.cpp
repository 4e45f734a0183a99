#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "energy.h"
#include "graph.h"

namespace bench {
namespace {

constexpr double short_us = 100, cached_us = 25;
constexpr double energy_seconds = 1.2, energy_us = 3000;  // in all; of what is queued at once
constexpr double turn_us = 600;  // of a batch where calls take turns: the events add about a per cent, to all alike
constexpr int turns = 7;
constexpr double slow_us = 5e4;  // of a call that is not called again to know how long it takes

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

}  // namespace

bool wants_energy(const Case &c, const Options &options) {
  if (!options.energy.empty()) return options.energy == "all";
  return std::find(c.groups.begin(), c.groups.end(), "energy") != c.groups.end();
}

void measure_energy(Clock &clock, const std::function<void(int64_t)> &call, const Case &c, Row *row) {
  static const EnergyMeter meter;
  if (!meter.works() || row->us <= 0) return;
  const int64_t n = std::clamp<int64_t>(std::ceil(energy_us / row->us), 1, 500);
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

// A sample is a batch of calls, back to back on one stream between two events, each on the next set of operands. It lasts a
// millisecond or more, so the events' own time (a few microseconds) is below half a per cent. Short work is queued behind
// copies that keep the device busy until the host has queued the whole batch: then the interval is what the device needs,
// launch gaps included, and not what the host needs to call.
void measure(Clock &clock, const std::function<void(int64_t)> &call, const Options &options, Row *row) {
  for (int64_t k = 0; k < 2; k++) call(k);
  clock.synchronize();
  double host_us = 0;
  const double us = batch_us(clock, call, 2, 4, 0, &host_us);
  const int64_t n = std::clamp<int64_t>(std::ceil((options.quick ? 600 : 1200) / us), 1, 500);
  double plug_us = us < short_us ? 1.5 * n * host_us + 50 : 0;
  const int samples = us > 2e4 ? 7 : options.quick ? 9 : 15;
  std::vector<double> times;
  int64_t k = 6;
  for (int again = samples; int(times.size()) < samples; k += n) {
    double queued_us = 0;  // a call
    times.push_back(batch_us(clock, call, k, n, plug_us, &queued_us));
    if (plug_us > 0 && n * queued_us > plug_us && again-- > 0) {  // the device has waited for the host
      times.pop_back();
      plug_us = 1.5 * n * queued_us + 50;
    }
  }
  summarize(times, row);
  row->host_us = host_us;
  row->method = plug_us > 0 ? "batch behind a busy device" : "batch";
  if (us < short_us) row->graph_us = replay_us(clock, call, n, 5);
  if (us < cached_us) row->graph_cached_us = replay_us(clock, [&](int64_t) { call(0); }, n, 5);
}

// A call that is seen to be far behind has no turns. Each has been called before.
void measure_in_turn(Clock &clock, const std::vector<std::function<void(int64_t)>> &calls, const std::vector<Row *> &rows) {
  const size_t n_calls = calls.size();
  std::vector<double> us, plug_us;
  std::vector<int64_t> n;
  std::vector<std::vector<double>> times(n_calls);
  for (const auto &call : calls) {
    double host_us = 0;
    us.push_back(batch_us(clock, call, 0, 1, 0, nullptr));
    if (us.back() < slow_us) us.back() = std::min(batch_us(clock, call, 1, 1, 0, nullptr), batch_us(clock, call, 2, 1, 0, &host_us));
    n.push_back(std::clamp<int64_t>(std::ceil(turn_us / us.back()), 1, 200));
    plug_us.push_back(us.back() < short_us ? 1.5 * n.back() * host_us + 50 : 0);
  }
  const double far = std::max(turn_us, 3 * *std::min_element(us.begin(), us.end()));
  for (int64_t turn = 0, k = 3; turn < turns; turn++, k += 200) {
    for (size_t i = 0; i < n_calls; i++) {
      if (us[i] <= far) times[i].push_back(batch_us(clock, calls[i], k, n[i], plug_us[i], nullptr));
    }
  }
  for (size_t i = 0; i < n_calls; i++) {
    rows[i]->method = times[i].empty() ? "one call" : "in turn";
    summarize(times[i].empty() ? std::vector<double>{us[i]} : times[i], rows[i]);
  }
}

}  // namespace bench
