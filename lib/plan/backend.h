// What a backend offers the planner: a table of kernels, and memory. Backends are found by name; nothing else in the
// library asks which one it is on.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/problem.h"

namespace tcu {

// What accepts(), suits() and configure() may know of a device. Plain numbers, so that both are tested without one.
struct Device {
  std::string backend = "cpu";
  std::string name;
  int ordinal = 0;
  int major = 0, minor = 0;        // compute capability; 0 on the cpu
  int processors = 1;              // multiprocessors, or threads used
  int threads_per_processor = 1;   // resident at once
  int64_t shared_bytes = 0;        // that one block can have
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  double bytes_a_cycle = 0;        // that the memory moves in a cycle of the multiprocessors, at most; 0: not known
};

// How a kernel is launched. What `split`, `vector` and `detail` mean is said in the kernel's file.
struct LaunchConfig {
  int64_t grid = 1;       // blocks (cuda) or tasks (cpu)
  int block = 1;          // threads a block
  int shared_bytes = 0;   // dynamic
  int cluster = 1;        // blocks that begin together and reach each other's shared memory
  int64_t split = 1;      // parts that one output's elements are cut into
  int64_t chunk = 0;      // elements, or rows of them, in such a part; with split 1 kernels are given all there are
  int together = 1;       // parts that one block puts together, a power of two: all, or a group of them
  int groups = 0;         // such groups, where there are several
  int vector = 1;         // elements of one access
  int lanes = 1;          // threads that work together on one output, or one line
  int detail = 0;         // what else the kernel is told
  int variant = 0;        // which instantiation, where a kernel has several
  bool floods = false;    // reads as if the results needed no place in the caches, where a kernel asks
  bool at_once = false;   // results go to memory from registers, where a kernel asks
  int wave = 0, apart = 0;  // of so many blocks, which begin together, each is to wait so many cycles more, where a kernel asks
  size_t workspace_bytes = 0;
  size_t zeroed_bytes = 0;   // leading part of the workspace that must be zero at the launch (Execution::zeroed)
  bool leaves_zero = false;  // and is zero again at the end
};

struct Plan;

// The values of one execution, beside its pointers.
struct Execution {
  Pointers at;
  void *stream = nullptr;
  const Scalar *scalars = nullptr;  // the caller's, by slot
  Scalar alpha{}, beta{}, init{};   // in the post dtype; init in the accumulator's
  double correction = 1;            // of var and std
  void *workspace = nullptr;        // the caller's whole workspace; to a kernel's launch, the part after the zeroed one
  void *zeroed = nullptr;
};

// Device memory that stays with a stream, for all that is queued there, one after another.
struct Scratch {
  void *zeroed = nullptr;  // zero whenever a kernel begins: every kernel leaves it so. Null: there is no scratch for this stream
  void *rest = nullptr;    // null: there is not so much
};

class Backend;

// A registry row. Rows stand in the order in which the planner asks them; it takes the first that accepts the problem and suits it.
// A pin asks `accepts` alone, and so does ./run tune, which says what `suits` is worth.
struct Kernel {
  const char *name;
  Family family;
  bool (*accepts)(const Problem &, const Device &);
  LaunchConfig (*configure)(const Problem &, const Device &);
  // Whatever the launch needs beyond the config (a compiled function, a typed tape). Runs once per plan; may compile.
  std::shared_ptr<const void> (*prepare)(const Problem &, const LaunchConfig &, Backend &);
  void (*launch)(const Plan &, const Execution &, Backend &);
  bool (*compiled)(const Plan &) = nullptr;  // whether prepare generated code; null: it never does
  bool (*suits)(const Problem &, const Device &) = nullptr;  // false: a row further down is faster; null: it suits what it accepts
  // prepare, but where that would wait for a compiler: then this is set to work beside the caller, and null comes back. Null: prepare is as good.
  std::shared_ptr<const void> (*prepare_now)(const Problem &, const LaunchConfig &, Backend &) = nullptr;
  bool stands_in = false;  // runs what it accepts while another row's compiler is at work
};

// Immutable; any thread may execute it.
struct Plan {
  explicit Plan(const Problem &p) : problem(p) {}
  Problem problem;
  const Kernel *kernel = nullptr;  // null: there is nothing to do
  int row = -1;                    // of the backend's registry
  LaunchConfig config;
  std::shared_ptr<const void> prepared;
  DType post = DType::none;        // dtype of alpha, beta
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const Device &device() const = 0;
  virtual std::span<const Kernel> kernels() const = 0;

  // With so many bytes, zeroed and other ones. Allocates, and waits, only when a stream first asks for so much.
  virtual Scratch scratch(void *stream, size_t zeroed, size_t rest) { return (void)stream, (void)zeroed, (void)rest, Scratch{}; }
  virtual void *allocate(size_t bytes, void *stream) = 0;
  virtual void release(void *data, void *stream) = 0;
  virtual void copy(void *to, const void *from, size_t bytes, void *stream) = 0;
  virtual void zero(void *data, size_t bytes, void *stream) = 0;
  virtual void synchronize(void *stream) = 0;
  virtual bool is_recording(void *stream) { return (void)stream, false; }  // of a stream whose work is to be run again
  virtual void *stream_create() = 0;
  virtual void stream_destroy(void *stream) = 0;
  virtual void *event_create() = 0;
  virtual void event_destroy(void *event) = 0;
  virtual void event_record(void *event, void *stream) = 0;
  virtual float event_elapsed(void *from, void *to) = 0;  // milliseconds; waits for `to`

  // Puts a 1 at every offset of 0..steps - 1, or one before it.
  struct SegmentMarks {
    void *flags;
    int64_t steps;
    const void *offsets;
    DType offsets_type;
    int64_t n_offsets;
    bool reverse;  // one before: where a segment begins for a scan that runs from the end
  };
  virtual void mark_segments(const SegmentMarks &m, void *stream) = 0;

  // c = alpha a b + beta c; layouts are checked. lda.. in elements; trans says that the rows are contiguous.
  struct Matmul {
    DType dtype;
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
    bool trans_a, trans_b;
    Scalar alpha, beta;
  };
  virtual void matmul(const Matmul &m, void *stream) = 0;
};

// The backends that this build and this machine have, by name. Each is defined in its own room.
std::unique_ptr<Backend> make_cpu_backend(int device);
int cpu_device_count();
Device cpu_device(int ordinal);
std::unique_ptr<Backend> make_cuda_backend(int device);
int cuda_device_count();  // 0 without a driver
Device cuda_device(int ordinal);

}  // namespace tcu
