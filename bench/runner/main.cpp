// tcu_bench: times libtcuops on the cases of cases.json through its C ABI alone, as a caller would.
//   tcu_bench --device cpu|cuda [--group G] [--case NAME] [--dtype f32] [--family scan] [--kernel NAME]... [--quick]
//             [--all-kernels] [--once] [--plan-only K/N] [--energy all|none] [--budget SECONDS] [--cases FILE] [--out FILE]
// Writes one JSON object a line: what the device is, a row a case (see bench/run.py for the fields), what was left out.
// --kernel: as many rows a case as of these kernels take it, each timed as the planner's choice is without this; one data set for all.
// --all-kernels: as many rows a case as kernels take it, the planner's choice first; in brief, to be compared with one another. With
// --energy all, also the energy of the planner's row and of the fastest on tensor cores and on ordinary ones.
// --once: the same rows, each called once where a profiler looks (once.h), and not timed; ./run bench --instructions.
// --plan-only K/N: every N-th case from the K-th on is planned on those kernels and no more, so that what is compiled at run time is in
// the disk cache, by N processes side by side, when another one measures.
#include <chrono>
#include <cstdio>

#include "case_run.h"

int main(int argc, char **argv) {
  using namespace bench;
  auto start = std::chrono::steady_clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const Options options = parse_options(argc, argv);
  const std::vector<Case> cases = load_cases(options);
  try {
    Device device(options.device);
    CaseRunner runner(device, options, cases);
    if (options.parts > 0) {
      for (size_t i = size_t(options.part); i < cases.size() && seconds() < options.budget; i += size_t(options.parts)) runner.plan(cases[i]);
      return 0;
    }
    RowFile out(options.out);
    out.meta("device", device.info.name);
    out.meta("processors", std::to_string(device.info.processors));
    int wrong = 0, left = 0;
    for (const Case &c : cases) {
      if (seconds() > options.budget) {
        left++;
        continue;
      }
      for (const Row &row : runner.run(c)) {
        out.row(c, row);
        wrong += row.correct != 1;
        const bool one_of_many = row.pinned && row.us > 0 && (options.all_kernels || options.kernels.size() > 1);
        if (row.correct == 1 && (options.once || one_of_many)) continue;  // enough is told
        std::fprintf(stderr, "%-28s %-5s %-14s %-22s ", c.name.c_str(), c.dtype.c_str(), c.expr.c_str(),
                     row.kernel.c_str());
        if (row.us > 0) std::fprintf(stderr, "%10.1f us %8.1f GB/s ", row.us, c.bytes() / row.us / 1e3);
        std::fprintf(stderr, "%s %s\n", row.us < 0 ? "FAILED" : row.correct == 1 ? "ok" : "WRONG", row.note.c_str());
      }
    }
    for (const std::string &line : runner.refused()) out.meta("left out", line);
    if (left) out.meta("left out", std::to_string(left) + " cases: the time budget was spent");
    return wrong ? 1 : 0;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "tcu_bench: %s\n", e.what());
    return 2;
  }
}
