// The list of cases and the rows that a runner writes about them; shared by the C++ runners.
#pragma once
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace bench {

// A tensor over a flat buffer: element i lies at offset + sum(i_k * strides_k), dim 1 fastest. Strides are the tensor's
// own: broadcasting along a dim of extent 1 is up to who reads it.
struct View {
  std::vector<int64_t> shape, strides;
  int64_t offset = 0;
  int64_t span = 0;  // elements of the buffer that it needs, offset included

  int64_t elements() const;
  int64_t at(int64_t n) const;  // where the n-th element is, dim 1 the fastest
};

struct Case {
  std::string family, name, dtype, out, expr;  // dtypes as in cases.json: f32, i64, ...
  std::string data;                            // one of data.h's; empty: uniform in [-1, 1), or small integers
  std::vector<int64_t> shape;
  std::vector<int> dims;  // 1-based
  std::vector<View> inputs;
  View into;  // out; dense where cases.json says nothing
  std::vector<std::string> groups;

  std::vector<int64_t> out_shape() const;
  int64_t elements() const;     // of the iteration space
  int64_t fold_length() const;  // elements that meet in one output; 1 for a broadcast
  int64_t results() const;      // arrays that it writes: a broadcast of several expressions as many
  int64_t bytes() const;        // that must move: each input element once, each output once
};

// What every runner takes on its command line.
struct Options {
  std::string cases = "bench/cases.json", out, device = "cpu";
  std::vector<std::string> kernels;                          // rows of the library, one after another; none: the planner's choice
  std::vector<std::string> groups, names, dtypes, families;  // empty: all; a name matches as a substring
  double budget = 1e9;                                       // seconds; cases that no longer fit are left out
  bool quick = false;
  std::string energy;        // of 'all' cases or of 'none'; empty: of those in group 'energy'
  bool all_kernels = false;  // beside the planner's choice every other kernel that takes the case, in turn
  bool once = false;         // the same rows, each called once for a profiler (once.h) in place of being timed
  int part = 0, parts = 0;   // of so many parts of the cases this one is planned and not run: what it compiles is on the disk then
};

// Exits with a message if an argument is wrong.
Options parse_options(int argc, char **argv);
// The selected cases, in the file's order.
std::vector<Case> load_cases(const Options &options);

int64_t dtype_bytes(const std::string &dtype);  // 0 if unknown

// One measurement. us is the median over the samples, us_min the least; negative or NaN is 'not measured'.
struct Row {
  std::string who, kernel, method, note;
  std::string measured;  // beside the planner's choice, the kernel that TCU_KERNEL_MEASURED takes; empty: it was not asked
  double us = -1, us_min = -1, us_spread = -1, graph_us = -1, graph_cached_us = -1, host_us = -1, joule = -1, idle_watts = -1, error = -1;
  double error_over_magnitudes = -1;  // of sums and means: the worst |out - ref| over the sum, or mean, of magnitudes
  int correct = -1;  // 0, 1, or -1: not checked
  bool pinned = false;  // beside the planner's choice
  int mark = 0;         // between which two marks its launches lie (once.h); 0: it was not profiled
};

// Writes one JSON object a line, at once, so that a runner that is stopped has lost nothing.
class RowFile {
 public:
  explicit RowFile(const std::string &path);  // empty: standard output
  void meta(const std::string &key, const std::string &value);
  void row(const Case &c, const Row &r);

 private:
  void line(const std::string &text);
  std::ofstream file_;
};

// How many sets of operands to rotate among, so that a set has left a cache of cache_bytes before it comes again.
// At most 4096: what is smaller than 4 * cache / 4096 in all is measured from the cache, by every runner alike.
int64_t rotation(int64_t bytes_per_set, int64_t cache_bytes);

// Median, least and relative interquartile range of samples, into the row.
void summarize(std::vector<double> samples_us, Row *row);

}  // namespace bench
