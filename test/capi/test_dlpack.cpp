// DLPack's structs as its specification has them, in and out of the C ABI.
#include <cstring>
#include <thread>
#include <vector>

#include "capi/api.h"

using namespace api;

extern "C" {
struct DLTensor {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void *manager;
  void (*deleter)(DLManagedTensor *);
};
}
static_assert(sizeof(DLTensor) == 48 && sizeof(DLManagedTensor) == 64, "the sizes of DLPack 0.8 on 64-bit machines");

namespace {
// DLPack's number of the context's device, and of the other kind.
const bool on_cpu = std::string(tcu_context_backend(context())) == "cpu";
const int32_t here = on_cpu ? 1 : 2, elsewhere = on_cpu ? 2 : 1;
}  // namespace

TEST_CASE("dlpack: another library's tensor, dense with the last mode fastest, is summed") {
  float data[] = {-1, 1, 2, 3, 4, 5, 6};  // (2, 3) from the second element on
  int64_t shape[] = {2, 3}, strides[2] = {7, 7};
  DLTensor from{data, {here, 0}, 2, {2, 32, 1}, shape, nullptr, sizeof(float)};
  tcu_tensor_t x{};
  OK(tcu_tensor_from_dlpack(&x, strides, context(), &from));
  CHECK((x.data == data + 1 && x.rank == 2 && x.dtype == TCU_FLOAT32 && x.extents == shape));
  CHECK((x.strides == strides && strides[0] == 3 && strides[1] == 1));
  Array<float> rows({2, 1}, {0, 0});
  const int32_t dim = 1;
  if (on_cpu) {
    OK(tcu_reduce(context(), rows, TCU_REDUCE_SUM, nullptr, 1, &x, 1, &dim, nullptr));
    CHECK(rows.get() == std::vector<float>{6, 15});
  }
  int64_t own[] = {1, 2};
  from.strides = own;
  OK(tcu_tensor_from_dlpack(&x, nullptr, context(), &from));
  CHECK(x.strides == own);
}

TEST_CASE("dlpack: what is not ours is refused") {
  float data[4] = {};
  int64_t shape[] = {4}, strides[1];
  const DLTensor good{data, {here, 0}, 1, {2, 32, 1}, shape, nullptr, 0};
  tcu_tensor_t x{};
  OK(tcu_tensor_from_dlpack(&x, strides, context(), &good));
  const auto with = [&](auto change) {
    DLTensor bad = good;
    change(bad);
    return tcu_tensor_from_dlpack(&x, strides, context(), &bad);
  };
  FAILS(TCU_ERROR_DTYPE, with([](DLTensor &t) { t.dtype.lanes = 4; }));
  FAILS(TCU_ERROR_DTYPE, with([](DLTensor &t) { t.dtype.bits = 4; }));
  FAILS(TCU_ERROR_DTYPE, with([](DLTensor &t) { t.dtype.code = 3; }));
  // of the other floats of 8 bits: e4m3 with infinities, and e4m3fnuz
  for (const uint8_t code : {8, 11}) FAILS(TCU_ERROR_DTYPE, with([&](DLTensor &t) { t.dtype.code = code, t.dtype.bits = 8; }));
  FAILS(TCU_ERROR_DEVICE, with([](DLTensor &t) { t.device.type = 7; }));
  FAILS(TCU_ERROR_DEVICE, with([](DLTensor &t) { t.device.type = elsewhere; }));
  FAILS(TCU_ERROR_RANK, with([](DLTensor &t) { t.ndim = 65; }));
  FAILS(TCU_ERROR_RANK, with([](DLTensor &t) { t.ndim = -1; }));
  FAILS(TCU_ERROR_NULL, with([](DLTensor &t) { t.shape = nullptr; }));
  int64_t huge[] = {int64_t(1) << 40, int64_t(1) << 40}, two[2];
  DLTensor large{data, {here, 0}, 2, {2, 32, 1}, huge, nullptr, 0};
  FAILS(TCU_ERROR_OVERFLOW, tcu_tensor_from_dlpack(&x, two, context(), &large));
  FAILS(TCU_ERROR_NULL, tcu_tensor_from_dlpack(nullptr, strides, context(), &good));
  FAILS(TCU_ERROR_NULL, tcu_tensor_from_dlpack(&x, nullptr, context(), &good));
  FAILS(TCU_ERROR_NULL, tcu_tensor_from_dlpack(&x, strides, nullptr, &good));
  FAILS(TCU_ERROR_NULL, tcu_tensor_from_dlpack(&x, strides, context(), nullptr));
}

TEST_CASE("dlpack: ours goes out, and its owner hears when it is no longer used") {
  int released = 0;
  const auto release = [](void *owner) { ++*static_cast<int *>(owner); };
  const struct {
    tcu_dtype_t dtype;
    int code, bits;
  } types[] = {{TCU_BOOL, 6, 8},      {TCU_INT16, 0, 16},   {TCU_UINT64, 1, 64},    {TCU_FLOAT16, 2, 16},
               {TCU_BFLOAT16, 4, 16}, {TCU_FLOAT64, 2, 64}, {TCU_COMPLEX64, 5, 64}, {TCU_COMPLEX128, 5, 128},
               {TCU_FLOAT8_E4M3, 10, 8}, {TCU_FLOAT8_E5M2, 12, 8}};
  for (const auto &t : types) {
    DLManagedTensor *out = nullptr;
    {
      const int64_t extents[] = {2, 3, 4};  // gone before the tensor is
      const tcu_tensor_t x{&released, extents, nullptr, t.dtype, 3};
      OK(tcu_tensor_to_dlpack(&out, context(), &x, &released, release));
    }
    REQUIRE(out != nullptr);
    CHECK((out->tensor.data == &released && out->tensor.ndim == 3 && out->tensor.byte_offset == 0));
    CHECK((out->tensor.dtype.code == t.code && out->tensor.dtype.bits == t.bits && out->tensor.dtype.lanes == 1));
    CHECK((out->tensor.shape[2] == 4 && out->tensor.strides[0] == 1 && out->tensor.strides[1] == 2 && out->tensor.strides[2] == 6));
    tcu_tensor_t back{};
    OK(tcu_tensor_from_dlpack(&back, nullptr, context(), &out->tensor));
    CHECK((back.dtype == t.dtype && back.rank == 3));
    const int before = released;
    std::thread([&] { out->deleter(out); }).join();
    CHECK(released == before + 1);
  }
  DLManagedTensor *out = nullptr;
  tcu_tensor_t scalar{&released, nullptr, nullptr, TCU_FLOAT32, 0};
  OK(tcu_tensor_to_dlpack(&out, context(), &scalar, nullptr, nullptr));
  out->deleter(out);
  scalar.dtype = 99;
  FAILS(TCU_ERROR_DTYPE, tcu_tensor_to_dlpack(&out, context(), &scalar, nullptr, nullptr));
  CHECK(out == nullptr);
  FAILS(TCU_ERROR_NULL, tcu_tensor_to_dlpack(&out, context(), nullptr, nullptr, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_tensor_to_dlpack(nullptr, context(), &scalar, nullptr, nullptr));
}
