// DLPack (data-apis.org/dlpack, version 0.8): other libraries' tensors in, ours out. Its structs are written out here, as its
// specification fixes them, so that the public header needs no other. Version 1.1, which has codes for 8-bit floats, kept these structs.
#include <algorithm>
#include <memory>
#include <vector>

#include "handles.h"

extern "C" {
struct DLTensor {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape;
  int64_t *strides;  // in elements; null: dense, the last mode fastest
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void *owner;
  void (*deleter)(DLManagedTensor *);
};
}

using namespace tcu;
using namespace tcu::capi;

namespace {

enum : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
enum : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6, kFloat8E4M3fn = 10, kFloat8E5M2 = 12 };

struct Row {
  DType dtype;
  uint8_t code, bits;
};
constexpr Row kTypes[] = {
    {DType::bool_, kBool, 8},  {DType::i8, kInt, 8},      {DType::i16, kInt, 16},     {DType::i32, kInt, 32},
    {DType::i64, kInt, 64},    {DType::u8, kUInt, 8},     {DType::u16, kUInt, 16},    {DType::u32, kUInt, 32},
    {DType::u64, kUInt, 64},   {DType::f16, kFloat, 16},  {DType::bf16, kBfloat, 16}, {DType::f32, kFloat, 32},
    {DType::f64, kFloat, 64},  {DType::c64, kComplex, 64}, {DType::c128, kComplex, 128},
    {DType::f8e4m3, kFloat8E4M3fn, 8}, {DType::f8e5m2, kFloat8E5M2, 8},
};

// Whether a context can work on memory of a DLPack device.
bool reaches(const Device &d, int32_t type, int32_t id) {
  if (d.backend == "cpu") return type == kCpu || type == kCudaHost;
  return (type == kCuda || type == kCudaManaged) && id == d.ordinal;
}

// What an exported tensor owns: its extents and strides, and a word to whoever owns the data.
struct Exported {
  DLManagedTensor managed;
  std::vector<int64_t> shape, strides;
  void *owner;
  void (*release)(void *owner);
};
void delete_exported(DLManagedTensor *managed) {
  if (!managed) return;
  auto *const e = static_cast<Exported *>(managed->owner);
  if (e->release) e->release(e->owner);
  delete e;
}

}  // namespace

extern "C" {

tcu_status_t tcu_tensor_from_dlpack(tcu_tensor_t *tensor, int64_t *strides, tcu_context_t context, const struct DLTensor *from) {
  return guard([&] {
    need(tensor, "tensor"), need(from, "from");
    const Device &device = need(context, "context")->planner.backend().device();
    if (from->ndim < 0 || from->ndim > kMaxRank) fail(Code::rank, "from has %d modes; there are 0 to %d", from->ndim, kMaxRank);
    if (from->ndim > 0) need(from->shape, "from's shape");
    if (!reaches(device, from->device_type, from->device_id))
      fail(Code::device, "from lies on DLPack's device %d, number %d, which a %s context does not reach", from->device_type,
           from->device_id, device.backend.c_str());
    DType dtype = DType::none;
    for (const Row &r : kTypes)
      if (r.code == from->code && r.bits == from->bits && from->lanes == 1) dtype = r.dtype;
    if (dtype == DType::none)
      fail(Code::dtype, "from's dtype (code %d, %d bits, %d lanes) is none of this library's", from->code, from->bits, from->lanes);
    const int64_t *steps = from->strides;
    if (!steps && from->ndim > 0) {
      need(strides, "strides");
      int64_t step = 1;
      for (int m = from->ndim - 1; m >= 0; --m) {
        strides[m] = step;
        if (from->shape[m] < 0 || __builtin_mul_overflow(step, std::max<int64_t>(from->shape[m], 1), &step))
          fail(Code::overflow, "from's extents are negative or their product does not fit 64 bits");
      }
      steps = strides;
    }
    *tensor = {static_cast<char *>(from->data) + from->byte_offset, from->shape, steps, int32_t(dtype), from->ndim};
  });
}

tcu_status_t tcu_tensor_to_dlpack(struct DLManagedTensor **managed, tcu_context_t context, const tcu_tensor_t *tensor, void *owner,
                                  void (*release)(void *owner)) {
  return guard([&] {
    *need(managed, "managed") = nullptr;
    need(tensor, "tensor");
    const Device &device = need(context, "context")->planner.backend().device();
    if (tensor->rank < 0 || tensor->rank > kMaxRank) fail(Code::rank, "tensor has %d modes; there are 0 to %d", tensor->rank, kMaxRank);
    if (tensor->rank > 0) need(tensor->extents, "tensor's extents");
    if (!is_dtype(tensor->dtype)) fail(Code::dtype, "%d is no dtype", tensor->dtype);
    auto e = std::make_unique<Exported>();
    e->owner = owner, e->release = release;
    int64_t step = 1;
    for (int m = 0; m < tensor->rank; ++m) {
      const int64_t extent = tensor->extents[m];
      e->shape.push_back(extent);
      e->strides.push_back(tensor->strides ? tensor->strides[m] : step);
      if (extent < 0 || __builtin_mul_overflow(step, std::max<int64_t>(extent, 1), &step))
        fail(Code::overflow, "tensor's extents are negative or their product does not fit 64 bits");
    }
    Row row{};
    for (const Row &r : kTypes)
      if (r.dtype == DType(tensor->dtype)) row = r;
    const bool cpu = device.backend == "cpu";
    e->managed = {{tensor->data, cpu ? kCpu : kCuda, cpu ? 0 : device.ordinal, tensor->rank, row.code, row.bits, 1, e->shape.data(),
                   e->strides.data(), 0},
                  e.get(), delete_exported};
    *managed = &e.release()->managed;
  });
}

}  // extern "C"
