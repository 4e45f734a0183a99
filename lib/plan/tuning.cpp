#include "plan/tuning.h"

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

namespace tcu {
namespace {

constexpr int kPlain = 1 << 20;  // more than there is work for: a grid as large as the work

// First the rows of one device, then those of any. The comment says what the number gained, or 'untuned'.
constexpr Tuning table[] = {
    // kernel               arch  bytes  blocks   factor  block  least
    // H200: 0.90 of the time with 16; with blocks of 256 1.005, but of tanh and its derivative of float16 0.97
    {"broadcast.flat",      0,    8,     kPlain, 0, 512},
    {"broadcast.flat",      0,    16,    kPlain, 0, 512},
    {"broadcast.flat",      0,    0,     kPlain, 0, 1024},
    {"broadcast.transpose", 0,    0,     kPlain},  // H200: 0.95
    {"broadcast.permute",   0,    0,     4},       // as many as are resident; H100, 219 problems: 0.94 of the time with 12
    {"broadcast.crossed",   0,    0,     kPlain},  // H200: 0.61 to 0.87 of the time with as many as are resident
    {"broadcast.realigned", 0,    1,     3},       // as many as are resident
    {"broadcast.realigned", 0,    0,     4},       // as that
    {"broadcast.dense",     0,    0,     kPlain},  // as the others
    {"broadcast.short",     0,    0,     kPlain},  // as the others
    {"broadcast.channels",  0,    0,     kPlain},  // as the others
    {"broadcast.shifted",   0,    0,     kPlain},  // as the others
    {"broadcast.periodic",  0,    1,     kPlain, 12},  // H200: 0.90 to 1.02 of the time with 6
    {"broadcast.periodic",  0,    4,     kPlain, 3},  // H200: 0.95 to 0.99 of the time with 6
    {"broadcast.periodic",  0,    8,     kPlain, 3},  // H200: 0.97 to 0.99 of the time with 6
    {"broadcast.periodic",  0,    0,     kPlain, 6},  // H200: 0.855 to 1.03 of the time with 3, 0.92 to 1.0 of that with 12
    {"broadcast.general",   0,    0,     kPlain},  // H200: 0.89 to 1.0
    {"broadcast.sliding_register", 0, 16, kPlain, 8},  // H200, outer products of 16384: 0.98 to 0.99 of the time with 16
    {"broadcast.sliding_register", 0, 0, kPlain, 16},  // untuned
    {"broadcast.sliding_shared",   0, 0, kPlain, 16},  // untuned
    {"reduce.small",        0,    0,     kPlain},  // H200: 0.95 to 0.98 of the time with 32
    {"reduce.contiguous",   0,    0,     kPlain},  // H200: 0.98 to 1.01 of the time with 16
    {"reduce.strided",      0,    0,     kPlain},  // H200: 0.97 to 1.015 of the time with 16
    {"reduce.abreast",      0,    0,     kPlain},  // untuned
    {"reduce.flat",         0,    0,     kPlain},  // untuned
    {"reduce.shifted",      0,    0,     4},   // untuned: as reduce.split
    {"reduce.channels",     0,    0,     4},   // untuned: as reduce.split
    {"reduce.tiles",        0,    0,     4},   // untuned: as reduce.split
    {"reduce.turned",       0,    0,     4},   // untuned: as reduce.split
    {"reduce.split",        0,    0,     4},   // blocks that the elements are cut for: as many as are resident
    {"reduce.tcu.segmented",       0,    0,     kPlain},  // as reduce.small
    {"reduce.tcu.recurrence",  0, 0,     0, 5, 32},    // the paper's best, on a V100
    {"reduce.tcu.single_pass", 0, 0,     0, 4, 128},   // as that
    {"reduce.tcu.split",       0, 0,     0, 50, 128, 0},  // of a hundred elements, those for tensor cores: half, as the paper begins with
    {"reduce.general",      0,    0,     16},  // untuned
    {"scan.lines",          0,    0,     kPlain},  // H200, lines across: 0.99 of the time with 16, 0.93 of that with 4
    {"scan.general",        0,    0,     16},  // untuned
    {"scan.tcu.segmented",       0, 0, 0, 1},  // quads put together by shuffles (1), H200: 0.81 to 1 of the time by products (2)
    {"scan.tcu.lookback",        0, 0, 0, 1},  // as that: 0.84 to 0.87
    {"scan.tcu.three_launches",  0, 0, 0, 1},  // untuned
    {"scan.matmulscan",     0,    0,     0, 16},  // s: the tensor cores'
    {"segmented.balanced",  0,    0,     4},   // as many as are resident
    {"segmented.general",   0,    0,     16},  // untuned
    {{},                    0,    0,     8},
};

// TCUOPS_TUNING=kernel=number,kernel=number:block: in place of the table's numbers, for ./run tune and ./run bench --paper. The number is
// the kernel's factor, where it has one, else its blocks a multiprocessor.
struct Given {
  int number, block;
};
std::map<std::string, Given, std::less<>> from_environment() {
  std::map<std::string, Given, std::less<>> numbers;
  const char *text = std::getenv("TCUOPS_TUNING");
  std::istringstream list(text ? text : "");
  for (std::string item; std::getline(list, item, ',');) {
    const size_t at = item.find('='), colon = item.find(':');
    if (at == std::string::npos) continue;
    numbers[item.substr(0, at)] = {std::atoi(item.c_str() + at + 1), colon == std::string::npos ? 0 : std::atoi(item.c_str() + colon + 1)};
  }
  return numbers;
}

}  // namespace

Tuning tuning(std::string_view kernel, const Device &device, int bytes) {
  static const auto given = from_environment();
  const int architecture = 10 * device.major + device.minor;
  const Tuning *t = table;
  while (!t->kernel.empty() && (t->kernel != kernel || (t->architecture != 0 && t->architecture != architecture) ||
                                (t->bytes != 0 && t->bytes != bytes)))
    ++t;
  Tuning found = *t;
  if (const auto at = given.find(kernel); at != given.end()) {
    const auto [number, block] = at->second;
    if (number >= (found.factor ? found.least : 1)) (found.factor ? found.factor : found.blocks_per_processor) = number;
    if (block > 0 && found.block) found.block = block;
  }
  return found;
}

}  // namespace tcu
