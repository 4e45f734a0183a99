// What TCUOPS_TUNING says, which a process reads once: hidden, for the test of that name sets it (test/CMakeLists.txt).
#include "catch.h"
#include "plan/tuning.h"

using namespace tcu;

TEST_CASE("tuning: the environment's numbers stand in place of the table's", "[.tuning]") {
  const Device device;
  const auto of = [&](const char *kernel) { return tuning(kernel, device, 2); };
  CHECK((of("reduce.tcu.recurrence").factor == 3 && of("reduce.tcu.recurrence").block == 1024));
  CHECK((of("reduce.tcu.single_pass").factor == 16 && of("reduce.tcu.single_pass").block == 512));
  CHECK((of("reduce.tcu.split").factor == 0 && of("reduce.tcu.split").block == 1024));
  CHECK(of("scan.matmulscan").factor == 16);  // no chain has a length of 0: the table's
  CHECK(of("reduce.split").blocks_per_processor == 7);
  CHECK(of("reduce.general").blocks_per_processor == 16);  // not named
}
