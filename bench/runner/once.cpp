#include "once.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace bench {
namespace {

constexpr double most_seconds = 0.2;

// For any device that CUDA's driver still knows.
constexpr char mark_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry tcu_bench_mark()\n{\n  ret;\n}\n";

void require(int status, const char *what) {
  if (status != 0) throw std::runtime_error(std::string(what) + " failed with status " + std::to_string(status));
}

// cuda.h's functions, with its handles as void * and CUresult as int.
struct Profiler {
  int (*load)(void **module, const void *image);
  int (*function_of)(void **function, void *module, const char *name);
  int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                void **parameters, void **extra);
  int (*start)();
  int (*stop)();
  void *mark = nullptr;

  Profiler() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) throw std::runtime_error("a profiled call needs libcuda.so.1");
    const auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (!function) throw std::runtime_error(std::string("libcuda.so.1 has no ") + name);
    };
    find(load, "cuModuleLoadData");
    find(function_of, "cuModuleGetFunction");
    find(launch, "cuLaunchKernel");
    find(start, "cuProfilerStart");
    find(stop, "cuProfilerStop");
    void *module = nullptr;  // stays loaded as long as the process
    require(load(&module, mark_ptx), "cuModuleLoadData");
    require(function_of(&mark, module, "tcu_bench_mark"), "cuModuleGetFunction");
  }
  void set_mark(int number, void *stream) const {
    require(launch(mark, static_cast<unsigned>(number), 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel");
  }
};

}  // namespace

double seconds_of(Clock &clock, const std::function<void(int64_t)> &call) {
  const auto start = std::chrono::steady_clock::now();
  call(0);
  clock.synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run_once(Clock &clock, const std::function<void(int64_t)> &call, double seconds, double most, Row *row) {
  row->method = "once";
  if (seconds > std::min(most, most_seconds)) {
    row->note = "not profiled: a call takes " + std::to_string(static_cast<int>(std::ceil(seconds * 1000))) + " ms";
    return;
  }
  static const Profiler profiler;
  static int marks = 0;
  row->mark = ++marks;
  require(profiler.start(), "cuProfilerStart");
  profiler.set_mark(row->mark, clock.stream());
  call(0);
  profiler.set_mark(row->mark, clock.stream());
  clock.synchronize();
  require(profiler.stop(), "cuProfilerStop");
}

}  // namespace bench
