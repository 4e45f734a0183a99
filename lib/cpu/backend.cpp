// The CPU backend: its registry, memory, clock.
#include "plan/backend.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "core/error.h"
#include "cpu/blas.h"
#include "cpu/memory.h"
#include "cpu/rows.h"
#include "cpu/table.h"
#include "cpu/threads.h"

namespace tcu {
namespace {

using Clock = std::chrono::steady_clock;

// Rows in the order in which the planner asks them: those that take the fewest problems first.
const std::vector<Kernel> &registry() {
  static const std::vector<Kernel> rows{
      cpu::broadcast_flat(), cpu::broadcast_transpose(), cpu::broadcast_general(),
      cpu::reduce_split(), cpu::reduce_small(), cpu::reduce_contiguous(), cpu::reduce_strided(), cpu::reduce_general(),
      cpu::scan_split(), cpu::scan_contiguous(), cpu::scan_strided(), cpu::scan_general(),
      cpu::scan_matmulscan(),  // after what takes everything: for pins alone
      cpu::segmented_general(),
  };
  return rows;
}

int64_t memory_bytes() {
  struct sysinfo s;
  return sysinfo(&s) == 0 ? int64_t(s.totalram) * s.mem_unit : 0;
}

std::string processor_name() {
  std::string name = "CPU";
  if (FILE *f = std::fopen("/proc/cpuinfo", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, f)) {
      if (std::strncmp(line, "model name", 10) != 0) continue;
      const char *colon = std::strchr(line, ':');
      if (!colon) break;
      name = colon + 2;
      while (!name.empty() && (name.back() == '\n' || name.back() == ' ')) name.pop_back();
      break;
    }
    std::fclose(f);
  }
  return name;
}

class CpuBackend final : public Backend {
 public:
  CpuBackend() : device_(cpu_device(0)), memory_(size_t(device_.memory_bytes), size_t(device_.memory_bytes / 4)) { cpu::table(); }

  const Device &device() const override { return device_; }
  std::span<const Kernel> kernels() const override { return registry(); }

  void *allocate(size_t bytes, void *) override { return memory_.allocate(bytes); }
  void release(void *data, void *) override { memory_.release(data); }
  void copy(void *to, const void *from, size_t bytes, void *) override { cpu::copy(to, from, bytes); }
  void zero(void *data, size_t bytes, void *) override { cpu::zero(data, bytes); }

  // Work is done when a call returns, so that there is one stream and nothing to wait for.
  void synchronize(void *) override {}
  void *stream_create() override { return nullptr; }
  void stream_destroy(void *) override {}
  void *event_create() override { return new Clock::time_point(Clock::now()); }
  void event_destroy(void *event) override { delete static_cast<Clock::time_point *>(event); }
  void event_record(void *event, void *) override { *static_cast<Clock::time_point *>(event) = Clock::now(); }
  float event_elapsed(void *from, void *to) override {
    const auto at = [](void *event) { return *static_cast<Clock::time_point *>(event); };
    return std::chrono::duration<float, std::milli>(at(to) - at(from)).count();
  }

  void mark_segments(const SegmentMarks &m, void *) override {
    const auto *narrow = static_cast<const int32_t *>(m.offsets);
    const auto *wide = static_cast<const int64_t *>(m.offsets);
    for (int64_t i = 0; i < m.n_offsets; ++i) {
      const int64_t offset = m.offsets_type == DType::i32 ? narrow[i] : wide[i];
      if (offset >= m.reverse && offset - m.reverse < m.steps) static_cast<uint8_t *>(m.flags)[offset - m.reverse] = 1;
    }
  }
  void matmul(const Matmul &m, void *) override { cpu::matmul(m); }

 private:
  Device device_;
  cpu::Memory memory_;
};

}  // namespace

int cpu_device_count() { return 1; }

Device cpu_device(int ordinal) {
  if (ordinal != 0) fail(Code::device, "the cpu is device 0; there is no device %d", ordinal);
  Device d;
  d.backend = "cpu";
  d.name = processor_name();
  d.processors = omp_get_max_threads();
  d.memory_bytes = memory_bytes();
  const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  d.l2_bytes = l2 > 0 ? l2 : 0;
  return d;
}

std::unique_ptr<Backend> make_cpu_backend(int device) {
  if (device != 0) fail(Code::device, "the cpu is device 0; there is no device %d", device);
  return std::make_unique<CpuBackend>();
}

}  // namespace tcu
