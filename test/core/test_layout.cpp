// What can be wrong with one layout, and with two: statuses, and brute force over small random ones.
#include <set>
#include <vector>

#include "core/problems.h"

using namespace tcu;
using namespace support;

namespace {

Code check_code(DType d, Sizes extents, const Sizes *strides, uintptr_t address = 1 << 20, int rank = 999) {
  const TensorView t{fake_address(address), d, rank == 999 ? int(extents.size()) : rank, extents.data(),
                     strides ? strides->data() : nullptr};
  return code_of([&] { check_tensor(t, "x", true); });
}
Code strided(Sizes extents, Sizes strides, DType d = DType::f32) { return check_code(d, std::move(extents), &strides); }
Code dense_code(Sizes extents, DType d = DType::f32) { return check_code(d, std::move(extents), nullptr); }

Layout layout(DType d, const Sizes &extents, const Sizes &strides) {
  return check_tensor({fake_address(1 << 20), d, int(extents.size()), extents.data(), strides.data()}, "x", true);
}

struct Random {
  Sizes extents, strides;
};
Random small_layout(Rng &rng, int max_rank, int64_t max_extent, int64_t max_stride) {
  Random r;
  for (int64_t n = pick(rng, 0, max_rank); n > 0; --n) {
    r.extents.push_back(pick(rng, 1, max_extent));
    r.strides.push_back(pick(rng, -max_stride, max_stride));
  }
  return r;
}

constexpr int64_t kHuge = int64_t(1) << 62;

}  // namespace

TEST_CASE("layout: each thing that can be wrong has its code") {
  CHECK(dense_code({3, 4}) == Code::ok);
  CHECK(dense_code({}) == Code::ok);
  CHECK(dense_code(Sizes(64, 1)) == Code::ok);
  CHECK(check_code(DType::f32, Sizes(65, 1), nullptr) == Code::rank);
  CHECK(check_code(DType::f32, {}, nullptr, 1 << 20, -2) == Code::rank);
  CHECK(dense_code({3, -1}) == Code::extent);
  CHECK(dense_code({0, -1}) == Code::extent);
  CHECK(check_code(DType(0), {3}, nullptr) == Code::dtype);
  CHECK(check_code(DType(99), {3}, nullptr) == Code::dtype);
  CHECK(check_code(DType::f32, {3}, nullptr, 0) == Code::null);
  CHECK(check_code(DType::f32, {0, 3}, nullptr, 0) == Code::ok);  // no element, no pointer
  CHECK(check_code(DType::f32, {3}, nullptr, 1001) == Code::alignment);
  CHECK(check_code(DType::c64, {3}, nullptr, 1004) == Code::ok);  // aligned to its component
  CHECK(check_code(DType::c128, {3}, nullptr, 1004) == Code::alignment);
  const TensorView no_extents{fake_address(64), DType::f32, 2, nullptr, nullptr};
  CHECK(code_of([&] { check_tensor(no_extents, "x", true); }) == Code::null);
}

TEST_CASE("layout: reach is checked in bytes, over all modes, in both directions") {
  CHECK(dense_code({kHuge, 4}) == Code::overflow);
  CHECK(dense_code({kHuge}, DType::i8) == Code::ok);
  CHECK(dense_code({kHuge}, DType::f32) == Code::overflow);
  CHECK(strided({2}, {INT64_MAX}, DType::i8) == Code::overflow);
  CHECK(strided({2}, {kHuge - 1}, DType::i8) == Code::ok);
  CHECK(strided({2}, {kHuge}, DType::i8) == Code::overflow);  // room is kept for kernels to round up in
  CHECK(strided({2}, {INT64_MIN}, DType::i8) == Code::overflow);
  CHECK(strided({2, 2}, {kHuge, kHuge}, DType::i8) == Code::overflow);
  CHECK(strided({2, 2}, {-kHuge, -kHuge}, DType::i8) == Code::overflow);
  CHECK(strided({2, 2}, {-kHuge, kHuge}, DType::i8) == Code::overflow);  // from its first byte to its last
  CHECK(strided({int64_t(1) << 32, int64_t(1) << 32}, {0, 0}, DType::i8) == Code::overflow);  // too many elements to count
  // A mode of extent 1 is not walked along, whatever its stride.
  for (int64_t s : {INT64_MIN, INT64_MAX}) CHECK(strided({1, 3}, {s, 1}) == Code::ok);
  // Nor is any mode of a tensor without elements; but its extents still multiply to something.
  for (int64_t s : {INT64_MIN, INT64_MAX}) CHECK(strided({0, 3}, {1, s}) == Code::ok);
  CHECK(dense_code({int64_t(1) << 40, int64_t(1) << 40, 0}) == Code::overflow);
}

TEST_CASE("layout: dense strides, and the span") {
  const Sizes extents{3, 1, 4};
  const Layout l = check_tensor({fake_address(64), DType::f64, 3, extents.data(), nullptr}, "x", true);
  CHECK((l.stride(0) == 1 && l.stride(1) == 3 && l.stride(2) == 3 && l.stride(5) == 0 && l.extent(5) == 1));
  CHECK((span_of(l).first == 0 && span_of(l).last == 96));
  const Layout r = layout(DType::f32, {3, 4}, {-2, 10});
  CHECK((span_of(r).first == -16 && span_of(r).last == 124));
  const Layout e = layout(DType::f32, {3, 0}, {-2, 10});
  CHECK((e.empty() && span_of(e).first == 0 && span_of(e).last == 0));
  CHECK_FALSE(layout(DType::f32, {}, {}).empty());
}

TEST_CASE("alias: an output meets itself exactly when brute force says so") {
  Rng rng(1);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const Random r = small_layout(rng, 4, 4, 12);
    std::set<int64_t> seen;
    for_each_index(r.extents, [&](const Sizes &i) { seen.insert(offset(i, r.strides)); });
    const bool meets = int64_t(seen.size()) != product(r.extents);
    const Code code = code_of([&] { check_no_self_overlap(layout(DType::f32, r.extents, r.strides), "out"); });
    INFO("extents " << Catch::StringMaker<Sizes>::convert(r.extents) << " strides " << Catch::StringMaker<Sizes>::convert(r.strides));
    REQUIRE(code == (meets ? Code::alias : Code::ok));
    refused += meets;
  }
  CHECK((refused > 2000 && refused < 18000));
  CHECK(code_of([&] { check_no_self_overlap(layout(DType::f32, {4, 3, 2}, {6, -2, 1}), "out"); }) == Code::ok);
  CHECK(code_of([&] { check_no_self_overlap(layout(DType::f32, {4, 0}, {0, 0}), "out"); }) == Code::ok);
  CHECK(code_of([&] { check_no_self_overlap(layout(DType::f32, {1, 4}, {0, 1}), "out"); }) == Code::ok);
}

TEST_CASE("overlap of two tensors: exactly the layouts that share a byte") {
  Rng rng(2);
  const DType dtypes[] = {DType::i8, DType::f16, DType::f32, DType::c64};
  int overlaps = 0;
  for (int round = 0; round < 20000; ++round) {
    const Random a = small_layout(rng, 3, 4, 9), b = small_layout(rng, 3, 4, 9);
    const DType da = one_of(rng, dtypes), db = one_of(rng, dtypes);
    const int64_t at_a = 1000, at_b = 1000 + pick(rng, -40, 40);
    std::set<int64_t> bytes;
    for_each_index(a.extents, [&](const Sizes &i) {
      for (int k = 0; k < bytes_of(da); ++k) bytes.insert(at_a + offset(i, a.strides) * bytes_of(da) + k);
    });
    bool meets = false;
    for_each_index(b.extents, [&](const Sizes &i) {
      for (int k = 0; k < bytes_of(db); ++k) meets |= bytes.count(at_b + offset(i, b.strides) * bytes_of(db) + k) > 0;
    });
    INFO("round " << round);
    REQUIRE(may_overlap(fake_address(uintptr_t(at_a)), layout(da, a.extents, a.strides), fake_address(uintptr_t(at_b)),
                        layout(db, b.extents, b.strides)) == meets);
    overlaps += meets;
  }
  CHECK((overlaps > 2000 && overlaps < 18000));
}

TEST_CASE("overlap at the ends of the address space, and of nothing") {
  const int64_t far = kHuge - 3;
  const Layout whole = layout(DType::i8, {3, 2}, {1, far}), back = layout(DType::i8, {3, 2}, {1, -far});
  const Layout unit = layout(DType::f64, {1}, {INT64_MAX}), none = layout(DType::f64, {0, 2}, {1, INT64_MIN});
  CHECK(may_overlap(fake_address(64), whole, fake_address(66), whole));
  CHECK_FALSE(may_overlap(fake_address(64), whole, fake_address(67), whole));
  CHECK(may_overlap(fake_address(64), whole, fake_address(uintptr_t(far) + 64), back));
  CHECK(may_overlap(fake_address(64), whole, fake_address(64), unit));
  CHECK_FALSE(may_overlap(fake_address(64), whole, fake_address(72), unit));
  CHECK_FALSE(may_overlap(fake_address(64), whole, fake_address(64), none));
  // Even and odd elements of one array interleave without meeting.
  const Layout every_second = layout(DType::f32, {1 << 20}, {2});
  CHECK_FALSE(may_overlap(fake_address(64), every_second, fake_address(68), every_second));
  CHECK(may_overlap(fake_address(64), every_second, fake_address(66), every_second));
  // The even and the odd rows of a tall matrix with an odd number of rows.
  const Layout rows = layout(DType::f32, {2000, 100000}, {2, 4001});
  CHECK_FALSE(may_overlap(fake_address(64), rows, fake_address(68), rows));
  CHECK(may_overlap(fake_address(64), rows, fake_address(64 + 4 * 4001 * 1000), rows));
}
