// QuickHash: words and texts that differ little.
#include <set>
#include <string>

#include "core/hash.h"
#include "support.h"

using tcu::QuickHash;

TEST_CASE("quick hash: texts that begin alike, of any length, and words next to each other differ") {
  std::set<uint64_t> seen;
  for (const char last : {'\0', 'a', 'b'})
    for (size_t n = 0; n < 40; ++n) {
      QuickHash h;
      h.add_text(std::string(n, 'a') + last);
      seen.insert(h.value());
    }
  CHECK(seen.size() == 3 * 40);
  for (uint64_t a = 0; a < 100; ++a)
    for (uint64_t b = 0; b < 100; ++b) {
      QuickHash h;
      h.add(a), h.add(b << 40);
      seen.insert(h.value());
    }
  CHECK(seen.size() == 3 * 40 + 100 * 100);
}
