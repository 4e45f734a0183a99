// Canonicalization: the same loop nest, in fewer modes.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "core/problems.h"

using namespace tcu;
using namespace support;

namespace {

// One iteration of a loop nest: each operand's offset over the modes of each role. Sorted, two nests compare whatever
// their order.
using Point = std::vector<int64_t>;
std::vector<Point> points(const Modes &modes, int n_operands) {
  Sizes extents;
  for (const Mode &m : modes) extents.push_back(m.extent);
  std::vector<Point> out;
  for_each_index(extents, [&](const Sizes &index) {
    Point p(size_t(3 * n_operands), 0);
    for (int i = 0; i < modes.size(); ++i)
      for (int k = 0; k < n_operands; ++k) p[size_t(int(modes[i].role) * n_operands + k)] += index[size_t(i)] * modes[i].stride[k];
    out.push_back(p);
  });
  std::sort(out.begin(), out.end());
  return out;
}

Mode mode(int64_t extent, Role role, std::vector<int64_t> strides) {
  Mode m{};
  m.extent = extent, m.role = role;
  std::copy(strides.begin(), strides.end(), m.stride);
  return m;
}

std::string pattern(const Modes &modes) {
  Problem p;
  p.modes = modes;
  return p.pattern();
}

// The pattern of a canonical list of modes, with operand 0 leading.
std::string canonical(std::vector<Mode> list, int n_operands) {
  Modes modes;
  for (const Mode &m : list) modes.push(m);
  std::vector<int> lead;
  for (int k = 0; k < n_operands; ++k) lead.push_back(k);
  canonicalize(modes, n_operands, lead.data(), n_operands);
  return pattern(modes);
}

constexpr DType f32 = DType::f32;
constexpr Role K = Role::K, R = Role::R, S = Role::S;

}  // namespace

TEST_CASE("canonical modes: drop, order, merge") {
  CHECK(canonical({mode(3, K, {1, 1}), mode(4, K, {3, 3})}, 2) == "K:12");
  CHECK(canonical({mode(4, K, {3, 3}), mode(3, K, {1, 1})}, 2) == "K:12");          // order of the caller does not count
  CHECK(canonical({mode(3, K, {1, 1}), mode(1, K, {9, 7}), mode(4, K, {3, 3})}, 2) == "K:12");
  CHECK(canonical({mode(3, K, {1, 1}), mode(4, K, {3, 4})}, 2) == "K:3 K:4");       // contiguous for one operand only
  CHECK(canonical({mode(3, K, {1, 0}), mode(4, K, {3, 0})}, 2) == "K:12");          // broadcast along both
  CHECK(canonical({mode(3, K, {1, 1}), mode(4, R, {3, 3})}, 2) == "K:3 R:4");       // roles do not mix
  CHECK(canonical({mode(3, K, {-1, -1}), mode(4, K, {-3, -3})}, 2) == "K:12");      // reversed altogether
  CHECK(canonical({mode(3, K, {-1, 1}), mode(4, K, {3, 3})}, 2) == "K:3 K:4");
  CHECK(canonical({mode(1, S, {1, 1}), mode(4, K, {1, 1})}, 2) == "K:4 S:1");       // a scanned mode stays, behind the others
  CHECK(canonical({mode(3, K, {1, 1}), mode(1, S, {0, 9}), mode(4, K, {3, 3})}, 2) == "K:12 S:1");
  CHECK(canonical({mode(2, S, {1, 1}), mode(4, K, {2, 2})}, 2) == "S:2 K:4");
  CHECK(canonical({mode(1, K, {1, 1})}, 2) == "");
  CHECK(canonical({}, 1) == "");
  CHECK(canonical({mode(0, K, {1, 1}), mode(4, K, {1, 1})}, 2).find("K:0") != std::string::npos);
  // Strides whose product with the extent passes an int64 are not contiguous with anything.
  const int64_t huge = int64_t(1) << 62;
  CHECK(canonical({mode(4, K, {huge, 0}), mode(2, K, {0, 1})}, 2).size() == 7);
}

TEST_CASE("canonical modes: the patterns that the design names") {
  CHECK(Call().tensor(f32, {1, 1, 4, 5}).tensor(f32, {2, 3, 4, 5}).reduce(ReduceOp::sum, {0, 1}).pattern() == "R:6 K:20");
  CHECK(Call().tensor(f32, {1, 1, 4, 1}).tensor(f32, {2, 3, 4, 5}).reduce(ReduceOp::sum, {0, 1, 3}).pattern() == "R:6 K:4 R:5");
  CHECK(Call().tensor(f32, {1, 3, 1, 5}).tensor(f32, {2, 3, 4, 5}).reduce(ReduceOp::sum, {0, 2}).pattern() == "R:2 K:3 R:4 K:5");
  CHECK(Call().tensor(f32, {1, 1}).tensor(f32, {64, 32}).reduce(ReduceOp::sum, {0, 1}).pattern() == "R:2048");
  CHECK(Call().tensor(f32, {64, 32}).tensor(f32, {64, 32}).reduce(ReduceOp::sum, {}).pattern() == "K:2048");
  for (Sizes extents : {Sizes{120}, Sizes{2, 60}, Sizes{2, 3, 4, 5}, Sizes{2, 1, 3, 1, 4, 5}})
    CHECK(Call().tensor(f32, extents).tensor(f32, extents).tensor(f32, extents).expr(sum_of_inputs(2)).map().pattern() ==
          "K:120");
  // A bias along the channels of a W,H,C,N batch.
  CHECK(Call().tensor(f32, {7, 7, 4, 2}).tensor(f32, {7, 7, 4, 2}).tensor(f32, {1, 1, 4}).expr(sum_of_inputs(2)).map().pattern() ==
        "K:49 K:4 K:2");
  CHECK(Call().tensor(f32, {6, 5}).tensor(f32, {6}).map().pattern() == "K:6 K:5");
  CHECK(Call().tensor(f32, {6, 5}).tensor(f32, {}).map().pattern() == "K:30");
  CHECK(Call().tensor(f32, {6, 5}, {5, 1}).tensor(f32, {6, 5}, {5, 1}).map().pattern() == "K:30");   // row-major
  CHECK(Call().tensor(f32, {6, 5}).tensor(f32, {6, 5}, {5, 1}).map().pattern() == "K:6 K:5");        // a transposition
  CHECK(Call().tensor(f32, {2, 3, 4}).tensor(f32, {2, 3, 4}).scan(ReduceOp::sum, 1).pattern() == "K:2 S:3 K:4");
  CHECK(Call().tensor(f32, {2, 3, 4}).tensor(f32, {2, 3, 4}).scan(ReduceOp::sum, 0).pattern() == "S:2 K:12");
  CHECK(Call().tensor(f32, {2, 3}).tensor(f32, {2, 3}).scan(ReduceOp::sum, 4).pattern().find("S:1") != std::string::npos);
}

TEST_CASE("canonical modes: a random nest is the same nest afterwards, in the same roles") {
  Rng rng(3);
  int fewer = 0;
  for (int round = 0; round < 3000; ++round) {
    const int n_operands = int(pick(rng, 1, 4)), rank = int(pick(rng, 0, 6));
    Modes modes;
    std::vector<int64_t> running(size_t(n_operands), 1);
    const int64_t style = pick(rng, 0, 2);
    bool scanned = false;
    for (int i = 0; i < rank; ++i) {
      Mode m{};
      m.extent = pick(rng, 1, 4) % 4 + (chance(rng, 3) ? 0 : 1);
      m.role = chance(rng, 50) ? K : chance(rng, 80) || scanned ? R : S;
      scanned |= m.role == S;
      for (int k = 0; k < n_operands; ++k) {  // dense, dense with broadcasts, or anything
        m.stride[k] = style == 2 ? pick(rng, -6, 6) : style == 1 && chance(rng, 30) ? 0 : running[size_t(k)];
        if (style < 2 && m.stride[k]) running[size_t(k)] *= std::max<int64_t>(m.extent, 1);
      }
      modes.push(m);
    }
    for (int i = modes.size() - 1; i > 0; --i) std::swap(modes[i], modes[int(pick(rng, 0, i))]);
    std::vector<int> lead;
    for (int k = 0; k < n_operands; ++k) lead.push_back(k);
    Modes after = modes;
    canonicalize(after, n_operands, lead.data(), n_operands);
    INFO(pattern(modes) << " became " << pattern(after));
    REQUIRE(points(modes, n_operands) == points(after, n_operands));
    REQUIRE(after.count(K) == modes.count(K));
    REQUIRE(after.count(R) == modes.count(R));
    REQUIRE(after.n_of(S) == modes.n_of(S));
    for (const Mode &m : after) REQUIRE((m.extent != 1 || m.role == S));
    fewer += after.size() < modes.size();
    // Canonical modes stay as they are.
    Modes again = after;
    canonicalize(again, n_operands, lead.data(), n_operands);
    CHECK(again.size() <= after.size());
  }
  CHECK(fewer > 1000);
}

TEST_CASE("modes: as many as there may be, however they are copied and cut") {
  for (const int n : {0, 1, 8, 9, kMaxRank}) {
    Modes modes, other;
    for (int i = 0; i < n; ++i) modes.push(mode(i + 2, K, {i + 1}));
    for (int i = 0; i < kMaxRank - n; ++i) other.push(mode(1, R, {0}));
    const Modes copy = modes;
    other = modes, other = *&other;
    REQUIRE((copy.size() == n && other.size() == n));
    for (int i = 0; i < n; ++i) REQUIRE((copy[i].extent == i + 2 && other[i].stride[0] == i + 1 && other[i].role == K));
    other.resize(n / 2);
    const Modes half = other;
    other.push(mode(7, R, {3}));
    REQUIRE((half.end() - half.begin() == n / 2 && other.size() == n / 2 + 1 && other[n / 2].extent == 7));
    if (n > 1) REQUIRE((other[0].extent == 2 && half[n / 2 - 1].extent == n / 2 + 1));
  }
}

TEST_CASE("canonical modes: whatever the order of a dense array's modes, it becomes one") {
  Rng rng(4);
  for (int round = 0; round < 500; ++round) {
    const int rank = int(pick(rng, 1, 6)), n_operands = int(pick(rng, 1, 3));
    std::vector<Mode> list;
    int64_t running = 1;
    for (int i = 0; i < rank; ++i) {
      const int64_t extent = pick(rng, 2, 4);
      list.push_back(mode(extent, K, std::vector<int64_t>(size_t(n_operands), running)));
      running *= extent;
    }
    for (size_t i = list.size() - 1; i > 0; --i) std::swap(list[i], list[size_t(pick(rng, 0, int64_t(i)))]);
    REQUIRE(canonical(list, n_operands) == "K:" + std::to_string(running));
  }
}

TEST_CASE("canonical modes: positions of an arg-reduction count in the caller's order") {
  // argmax over modes 0 and 2 of a transposed array: the lowest mode runs fastest, wherever it lies in memory.
  const Problem p = Call().tensor(DType::i64, {1, 3, 1}).tensor(f32, {2, 3, 4}, {12, 4, 1}).reduce(ReduceOp::argmax, {0, 2});
  const int w = p.position_operand();
  REQUIRE(p.n_operands() == 3);
  std::set<std::vector<int64_t>> seen;
  Sizes extents;
  for (const Mode &m : p.modes) extents.push_back(m.extent);
  for_each_index(extents, [&](const Sizes &index) {
    int64_t in = 0, position = 0;
    for (int i = 0; i < p.modes.size(); ++i) in += index[size_t(i)] * p.modes[i].stride[1], position += index[size_t(i)] * p.modes[i].stride[w];
    seen.insert({in, position});
  });
  std::set<std::vector<int64_t>> want;
  for_each_index({2, 3, 4}, [&](const Sizes &i) { want.insert({12 * i[0] + 4 * i[1] + i[2], i[0] + 2 * i[2]}); });
  CHECK(seen == want);
}
