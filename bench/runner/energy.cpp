#include "energy.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace bench {

EnergyMeter::EnergyMeter() {
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) return;
  const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  const auto handle = reinterpret_cast<int (*)(unsigned, void **)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
  total_ = reinterpret_cast<int (*)(void *, unsigned long long *)>(dlsym(library, "nvmlDeviceGetTotalEnergyConsumption"));
  unsigned long long millijoules = 0;
  if (!init || !handle || !total_ || init() != 0 || handle(0, &device_) != 0 || total_(device_, &millijoules) != 0) {
    device_ = nullptr;  // not every GPU counts
    return;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the clocks come down
  const double before = joules();
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  idle_watts_ = (joules() - before) / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::fprintf(stderr, "the idle device takes %.0f W\n", idle_watts_);
}

double EnergyMeter::joules() const {
  unsigned long long millijoules = 0;
  total_(device_, &millijoules);
  return 1e-3 * double(millijoules);
}

}  // namespace bench
