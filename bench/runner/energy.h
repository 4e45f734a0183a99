// What the GPU has consumed, by NVML, which is opened at run time.
#pragma once

namespace bench {

class EnergyMeter {
 public:
  EnergyMeter();  // takes a second: the idle device is measured

  bool works() const { return device_ != nullptr; }
  double joules() const;  // since the driver was loaded; the counter moves every few hundredths of a second
  double idle_watts() const { return idle_watts_; }

 private:
  int (*total_)(void *device, unsigned long long *millijoules) = nullptr;
  void *device_ = nullptr;
  double idle_watts_ = 0;
};

}  // namespace bench
