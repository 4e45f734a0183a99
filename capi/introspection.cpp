// Sections 1, 5 (devices), 7 and 8 of tcuops.h: what there is, by name and number.
#include <cstring>

#include "handles.h"

using namespace tcu;
using namespace tcu::capi;

namespace {

constexpr const char *kStatusNames[] = {
    "TCU_OK", "TCU_ERROR_NULL", "TCU_ERROR_DTYPE", "TCU_ERROR_OP", "TCU_ERROR_EXPR", "TCU_ERROR_RANK", "TCU_ERROR_EXTENT",
    "TCU_ERROR_OVERFLOW", "TCU_ERROR_SHAPE", "TCU_ERROR_ALIAS", "TCU_ERROR_OVERLAP", "TCU_ERROR_DIM",
    "TCU_ERROR_REDUCED_MODE", "TCU_ERROR_EMPTY", "TCU_ERROR_STRUCT_SIZE", "TCU_ERROR_OPTION", "TCU_ERROR_KERNEL",
    "TCU_ERROR_WORKSPACE", "TCU_ERROR_ALIGNMENT", "TCU_ERROR_DEVICE", "TCU_ERROR_OUT_OF_MEMORY", "TCU_ERROR_UNSUPPORTED",
    "TCU_ERROR_LIBRARY", "TCU_ERROR_CUDA", "TCU_ERROR_INTERNAL"};
static_assert(std::size(kStatusNames) == TCU_ERROR_INTERNAL + 1);

struct BackendName {
  const char *name;
  int (*count)();
  Device (*device)(int);
};
constexpr BackendName kBackends[] = {{"cpu", cpu_device_count, cpu_device}, {"cuda", cuda_device_count, cuda_device}};

const BackendName &find_backend(const char *name) {
  for (const BackendName &b : kBackends)
    if (std::strcmp(need(name, "backend"), b.name) == 0) return b;
  fail(Code::device, "there is no backend '%s'; there are 'cpu' and 'cuda'", name);
}

const Kernel &row(tcu_context_t context, int32_t index) {
  const auto rows = need(context, "context")->planner.backend().kernels();
  if (index < 0 || size_t(index) >= rows.size()) fail(Code::option, "kernel %d; there are %zu", index, rows.size());
  return rows[size_t(index)];
}

// Copies a struct whose size the caller states, in this or an older version.
template <class T>
void fill(T *out, T full, const char *name) {
  const size_t size = need(out, name)->struct_size;
  if (size < sizeof(size_t) || size > sizeof(T))
    fail(Code::struct_size, "%s->struct_size is %zu; initialise it with its _INIT macro", name, size);
  full.struct_size = size;
  std::memcpy(out, &full, size);
}

}  // namespace

extern "C" {

const char *tcu_last_error(void) { return error_text(); }

const char *tcu_status_name(tcu_status_t status) {
  return status >= 0 && size_t(status) < std::size(kStatusNames) ? kStatusNames[status] : "unknown status";
}

int32_t tcu_version(void) { return TCU_VERSION_MAJOR * 10000 + TCU_VERSION_MINOR * 100 + TCU_VERSION_PATCH; }

tcu_status_t tcu_device_count(int32_t *count, const char *backend) {
  return guard([&] { *need(count, "count") = find_backend(backend).count(); });
}

tcu_status_t tcu_device_info(tcu_device_info_t *info, const char *backend, int32_t device) {
  return guard([&] {
    const BackendName &b = find_backend(backend);
    if (device < 0 || device >= b.count())
      fail(Code::device, "there is no %s device %d here; this machine has %d", b.name, device, b.count());
    const Device d = b.device(device);
    tcu_device_info_t full = TCU_DEVICE_INFO_INIT;
    std::strncpy(full.name, d.name.c_str(), sizeof full.name - 1);
    full.major = d.major, full.minor = d.minor, full.processors = d.processors;
    full.memory_bytes = d.memory_bytes, full.l2_bytes = d.l2_bytes;
    fill(info, full, "info");
  });
}

tcu_status_t tcu_plan_info(tcu_plan_t plan, tcu_plan_info_t *info) {
  return guard([&] {
    const Plan &p = *need(plan, "plan")->plan;
    tcu_plan_info_t full = TCU_PLAN_INFO_INIT;
    full.kernel = p.kernel ? p.kernel->name : "none";
    full.modes = plan->pattern.c_str();
    full.bytes = p.problem.bytes();
    full.workspace_bytes = int64_t(p.config.workspace_bytes);
    full.grid = p.config.grid, full.block = p.config.block, full.shared_bytes = p.config.shared_bytes;
    full.compiled = p.kernel && p.kernel->compiled && p.kernel->compiled(p);
    full.index_bits = p.problem.index_bits;
    fill(info, full, "info");
  });
}

tcu_status_t tcu_kernel_count(tcu_context_t context, int32_t *count) {
  return guard([&] { *need(count, "count") = int32_t(need(context, "context")->planner.backend().kernels().size()); });
}
tcu_status_t tcu_kernel_name(tcu_context_t context, int32_t index, const char **name) {
  return guard([&] { *need(name, "name") = row(context, index).name; });
}
tcu_status_t tcu_kernel_calls(tcu_context_t context, int32_t index, int64_t *calls) {
  return guard([&] {
    row(context, index);
    *need(calls, "calls") = context->planner.calls(index);
  });
}

const char *tcu_dtype_name(tcu_dtype_t d) { return is_dtype(d) ? info(DType(d)).name : nullptr; }
const char *tcu_op_name(tcu_op_t op) { return is_op(op) ? info(Op(op)).name : nullptr; }
const char *tcu_reduce_op_name(tcu_reduce_op_t op) { return is_reduce_op(op) ? info(ReduceOp(op)).name : nullptr; }
tcu_dtype_t tcu_dtype_by_name(const char *name) { return name ? tcu_dtype_t(dtype_by_name(name)) : 0; }
tcu_op_t tcu_op_by_name(const char *name) { return name ? tcu_op_t(op_by_name(name)) : 0; }
tcu_reduce_op_t tcu_reduce_op_by_name(const char *name) { return name ? tcu_reduce_op_t(reduce_op_by_name(name)) : 0; }
int32_t tcu_dtype_bytes(tcu_dtype_t d) { return is_dtype(d) ? bytes_of(DType(d)) : 0; }

}  // extern "C"
