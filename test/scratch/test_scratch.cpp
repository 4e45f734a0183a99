// What streams are given of scratch, on the emulated runtime: through the C API none of this can be seen but by its time.
#include "cuda/scratch.h"

#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "catch.h"

namespace {

using tcu::Scratch;
using tcu::cuda::ScratchSlots;

constexpr size_t kSmall = 64 << 10, kMiB = 1 << 20;

struct Stream {
  cudaStream_t handle = nullptr;
  Stream() { REQUIRE(cudaStreamCreate(&handle) == cudaSuccess); }
  ~Stream() { cudaStreamDestroy(handle); }
};

bool is_zero(const void *data, size_t bytes) {
  std::vector<char> now(bytes);
  REQUIRE(cudaMemcpy(now.data(), data, bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
  return now[0] == 0 && std::memcmp(now.data(), now.data() + 1, bytes - 1) == 0;
}

size_t available() {
  size_t bytes = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&bytes, &total) == cudaSuccess);
  return bytes;
}

}  // namespace

TEST_CASE("scratch: what nearly every call needs is there from the beginning, one for every stream") {
  ScratchSlots slots;
  const size_t before = available();
  std::vector<std::unique_ptr<Stream>> streams;
  std::set<void *> zeroed;
  for (int i = 0; i < 100; ++i) {
    streams.push_back(std::make_unique<Stream>());
    const Scratch s = slots.of(streams.back()->handle, kSmall, 2 * kSmall);
    REQUIRE((s.zeroed && s.rest && is_zero(s.zeroed, kSmall)));
    CHECK(zeroed.insert(s.zeroed).second);
    CHECK(slots.of(streams.back()->handle, 4, 0).zeroed == s.zeroed);
  }
  CHECK(available() == before);
}

TEST_CASE("scratch: more is made when a stream first asks, and stays") {
  ScratchSlots slots;
  const Stream one, other;
  const Scratch s = slots.of(one.handle, kMiB, 3 * kMiB);
  REQUIRE((s.zeroed && s.rest && is_zero(s.zeroed, kMiB)));
  REQUIRE(cudaMemset(s.rest, 7, 3 * kMiB) == cudaSuccess);
  CHECK(is_zero(s.zeroed, kMiB));
  const size_t before = available();
  CHECK(slots.of(one.handle, kSmall, 2 * kMiB).zeroed == s.zeroed);
  CHECK(available() == before);
  const Scratch t = slots.of(other.handle, kMiB, 3 * kMiB);
  CHECK((t.zeroed && t.zeroed != s.zeroed && available() < before));
  const Scratch larger = slots.of(one.handle, 2 * kMiB, 0);  // and not less of the rest than there was
  REQUIRE((larger.zeroed && larger.rest && is_zero(larger.zeroed, 2 * kMiB)));
  CHECK(slots.of(one.handle, 0, 3 * kMiB).rest == larger.rest);
}

TEST_CASE("scratch: of what is too large for all, a stream keeps what is zeroed") {
  ScratchSlots slots;
  const Stream one, other;
  REQUIRE(slots.of(one.handle, 0, 200 * kMiB).rest == nullptr);  // 256 MiB as a power of two, and a little
  REQUIRE(slots.of(one.handle, 0, 100 * kMiB).rest != nullptr);
  const Scratch s = slots.of(other.handle, kSmall, 100 * kMiB);
  CHECK((s.zeroed && is_zero(s.zeroed, kSmall) && !s.rest));
  CHECK(slots.of(other.handle, kMiB, 100 * kMiB).zeroed == nullptr);
  CHECK(slots.of(other.handle, kMiB, kMiB).rest != nullptr);  // of what is left
}

TEST_CASE("scratch: a device that was full is not asked again") {
  ScratchSlots slots;
  const Stream stream;
  const auto most = std::ptrdiff_t(available() - kMiB / 2);
  emu::occupy_device_memory(most);
  CHECK(slots.of(stream.handle, 0, kMiB).rest == nullptr);
  CHECK(cudaGetLastError() == cudaSuccess);
  emu::occupy_device_memory(-most);
  const size_t before = available();
  const Scratch s = slots.of(stream.handle, kSmall, kMiB);
  CHECK((s.zeroed && !s.rest && available() == before));
}
