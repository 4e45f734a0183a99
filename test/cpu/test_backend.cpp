// The CPU backend's memory, copies and matrix product.
#include <cstdint>

#include "cpu/memory.h"
#include "tensors.h"

namespace {
using namespace cpu_test;

TEST_CASE("memory is aligned, reused by size, and bounded") {
  tcu::cpu::Memory memory(size_t(1) << 32, 1 << 20);
  REQUIRE(memory.allocate(0) == nullptr);
  memory.release(nullptr);
  for (size_t bytes : {size_t(1), size_t(64), size_t(1000), size_t(4097), size_t(300000)}) {
    REQUIRE(tcu::cpu::Memory::size_class(bytes) >= bytes);
    REQUIRE(tcu::cpu::Memory::size_class(bytes) <= bytes + bytes / 4 + 64);
    void *a = memory.allocate(bytes);
    REQUIRE(reinterpret_cast<uintptr_t>(a) % 64 == 0);
    std::memset(a, 1, bytes);
    memory.release(a);
    void *b = memory.allocate(bytes);
    REQUIRE(a == b);
    memory.release(b);
  }
  memory.release(memory.allocate(8 << 20));  // more than is kept: goes back at once
  int not_ours = 0;
  try {
    memory.release(&not_ours);
    FAIL("a foreign pointer was taken");
  } catch (const tcu::Error &e) {
    REQUIRE(e.code == tcu::Code::internal);
  }
}

TEST_CASE("large copies and fills") {
  tcu::Backend &b = planner().backend();
  for (size_t n : {size_t(0), size_t(1), size_t(4095), size_t((5 << 20) + 13)}) {
    std::vector<unsigned char> x(n), y(n + 1, 7);
    for (size_t i = 0; i < n; ++i) x[i] = (unsigned char)(i * 31);
    b.copy(y.data(), x.data(), n, nullptr);
    REQUIRE(std::equal(x.begin(), x.end(), y.begin()));
    b.zero(y.data(), n, nullptr);
    REQUIRE(std::all_of(y.begin(), y.end() - 1, [](unsigned char c) { return c == 0; }));
    REQUIRE(y[n] == 7);
  }
}

TEST_CASE("matmul") {
  using tcu::DType;
  const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 1, 0, 1, 1};  // a is 2x3, b is 3x2, columns first
  float c[4] = {1, 1, 1, 1};
  tcu::Backend::Matmul m{DType::f32, 2, 2, 3, a, b, c, 2, 3, 2, false, false, number(DType::f32, 2), number(DType::f32, 10)};
  try {
    planner().backend().matmul(m, nullptr);
  } catch (const tcu::Error &e) {
    REQUIRE(e.code == tcu::Code::library);  // no BLAS on this machine
    return;
  }
  // a * b = [1+5, 3+5; 2+6, 4+6]
  REQUIRE(c[0] == 22);
  REQUIRE(c[1] == 26);
  REQUIRE(c[2] == 26);
  REQUIRE(c[3] == 30);
}

TEST_CASE("events measure time, and there is one cpu") {
  tcu::Backend &b = planner().backend();
  void *from = b.event_create(), *to = b.event_create();
  b.event_record(from, nullptr);
  b.event_record(to, nullptr);
  REQUIRE(b.event_elapsed(from, to) >= 0);
  b.event_destroy(from), b.event_destroy(to);
  REQUIRE(tcu::cpu_device_count() == 1);
  REQUIRE_THROWS_AS(tcu::make_cpu_backend(1), tcu::Error);
}

}  // namespace
