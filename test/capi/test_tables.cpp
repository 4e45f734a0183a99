// Names, versions, the last error, contexts, memory, streams, events, devices and the kernel registry.
#include <set>
#include <string>
#include <vector>

#include "capi/api.h"

using namespace api;

TEST_CASE("tables: statuses have their names, anything else has one too") {
  CHECK(std::string(tcu_status_name(TCU_OK)) == "TCU_OK");
  CHECK(std::string(tcu_status_name(TCU_ERROR_NULL)) == "TCU_ERROR_NULL");
  CHECK(std::string(tcu_status_name(TCU_ERROR_REDUCED_MODE)) == "TCU_ERROR_REDUCED_MODE");
  CHECK(std::string(tcu_status_name(TCU_ERROR_INTERNAL)) == "TCU_ERROR_INTERNAL");
  std::set<std::string> names;
  for (tcu_status_t s = 0; s <= TCU_ERROR_INTERNAL; ++s) names.insert(tcu_status_name(s));
  CHECK(names.size() == TCU_ERROR_INTERNAL + 1);
  for (tcu_status_t s : {-1, TCU_ERROR_INTERNAL + 1, INT32_MAX, INT32_MIN})
    CHECK(std::string(tcu_status_name(s)) == "unknown status");
}

TEST_CASE("tables: every row is found by its name, and no other") {
  int dtypes = 0, ops = 0, folds = 0;
  for (int32_t id = -2; id < 1100; ++id) {
    const char *dtype = tcu_dtype_name(id), *op = tcu_op_name(id), *fold = tcu_reduce_op_name(id);
    dtypes += dtype != nullptr, ops += op != nullptr, folds += fold != nullptr;
    if (dtype) CHECK(tcu_dtype_by_name(dtype) == id);
    if (op) CHECK(tcu_op_by_name(op) == id);
    if (fold) CHECK(tcu_reduce_op_by_name(fold) == id);
  }
  CHECK((dtypes == 17 && folds == 17 && ops > 100));
  CHECK(tcu_dtype_by_name("float32") == TCU_FLOAT32);
  CHECK((tcu_dtype_by_name("float8_e4m3") == TCU_FLOAT8_E4M3 && tcu_dtype_by_name("float8_e5m2") == TCU_FLOAT8_E5M2));
  CHECK(tcu_dtype_by_name("complex128") == TCU_COMPLEX128);
  CHECK(tcu_op_by_name("tanh") == TCU_OP_TANH);
  CHECK(tcu_op_by_name("gelu_grad") == TCU_OP_GELU_GRAD);
  CHECK(tcu_reduce_op_by_name("argmin") == TCU_REDUCE_ARGMIN);
  for (const char *name : {"", "float", "tanhh", "SUM"}) {
    CHECK(tcu_dtype_by_name(name) == 0);
    CHECK(tcu_op_by_name(name) == 0);
    CHECK(tcu_reduce_op_by_name(name) == 0);
  }
  CHECK(tcu_dtype_by_name(nullptr) == 0);
  CHECK(tcu_op_by_name(nullptr) == 0);
  CHECK(tcu_reduce_op_by_name(nullptr) == 0);
  CHECK(tcu_dtype_bytes(TCU_BOOL) == 1);
  CHECK(tcu_dtype_bytes(TCU_FLOAT16) == 2);
  CHECK((tcu_dtype_bytes(TCU_FLOAT8_E4M3) == 1 && tcu_dtype_bytes(TCU_FLOAT8_E5M2) == 1));
  CHECK(tcu_dtype_bytes(TCU_COMPLEX128) == 16);
  for (int32_t id : {0, -1, TCU_FLOAT8_E5M2 + 1, INT32_MAX, INT32_MIN}) {  // the last dtype's id, and one
    CHECK(tcu_dtype_bytes(id) == 0);
    CHECK(tcu_dtype_name(id) == nullptr);
  }
  for (int32_t id : {0, -1, TCU_REDUCE_RECURRENCE + 1, INT32_MAX, INT32_MIN}) CHECK(tcu_reduce_op_name(id) == nullptr);
  CHECK(tcu_op_name(INT32_MIN) == nullptr);
}

TEST_CASE("version: what the header says") {
  CHECK(tcu_version() == TCU_VERSION_MAJOR * 10000 + TCU_VERSION_MINOR * 100 + TCU_VERSION_PATCH);
}

TEST_CASE("last error: stays until the next call, and a success clears it") {
  FAILS(TCU_ERROR_NULL, tcu_plan_destroy(nullptr));
  const std::string message = tcu_last_error();
  CHECK(tcu_last_error() == message);
  CHECK(message.find("plan") != std::string::npos);
  OK(tcu_synchronize(context(), nullptr));
  // A message longer than its buffer is cut, not overrun.
  const std::string name(5000, 'k');
  tcu_context_t c = nullptr;
  FAILS(TCU_ERROR_DEVICE, tcu_context_create(&c, name.c_str(), 0));
  CHECK(std::string(tcu_last_error()).size() < 2000);
}

TEST_CASE("context: made, named, destroyed") {
  tcu_context_t a = nullptr, b = nullptr;
  OK(tcu_context_create(&a, "cpu", 0));
  OK(tcu_context_create(&b, nullptr, 0));
  CHECK(std::string(tcu_context_backend(a)) == "cpu");
  CHECK(tcu_context_backend(nullptr) == nullptr);
  int32_t gpus = -1;
  OK(tcu_device_count(&gpus, "cuda"));
  CHECK(std::string(tcu_context_backend(b)) == (gpus > 0 ? "cuda" : "cpu"));
  OK(tcu_context_destroy(a));
  OK(tcu_context_destroy(b));
}

TEST_CASE("devices: what there is") {
  int32_t count = -1;
  OK(tcu_device_count(&count, "cpu"));
  CHECK(count == 1);
  tcu_device_info_t info = TCU_DEVICE_INFO_INIT;
  OK(tcu_device_info(&info, "cpu", 0));
  CHECK(info.struct_size == sizeof info);
  CHECK(info.name[0] != 0);
  CHECK(info.processors >= 1);
  CHECK(info.memory_bytes > 0);
  // A caller of an older version has a shorter struct: no byte beyond it is written.
  tcu_device_info_t older;
  std::memset(&older, 0x5a, sizeof older);
  older.struct_size = offsetof(tcu_device_info_t, l2_bytes);
  OK(tcu_device_info(&older, "cpu", 0));
  CHECK(older.l2_bytes == 0x5a5a5a5a5a5a5a5a);
  CHECK(older.memory_bytes == info.memory_bytes);
}

TEST_CASE("memory: given, copied, taken back") {
  void *a = nullptr, *b = nullptr, *none = &a;
  OK(tcu_malloc(context(), &a, 1000, nullptr));
  OK(tcu_malloc(context(), &b, 1000, nullptr));
  CHECK((a && b && a != b));
  CHECK(reinterpret_cast<uintptr_t>(a) % 64 == 0);
  CHECK(reinterpret_cast<uintptr_t>(b) % 64 == 0);
  OK(tcu_malloc(context(), &none, 0, nullptr));
  for (size_t bytes : {size_t(3) << 20, size_t(5) << 20, (size_t(7) << 20) + 1}) {  // of large pages, which these are no whole number of
    void *large = nullptr;
    OK(tcu_malloc(context(), &large, bytes, nullptr));
    OK(tcu_copy(context(), static_cast<char *>(large) + bytes - 1000, a, 1000, nullptr));
    OK(tcu_free(context(), large, nullptr));
  }
  CHECK(none == nullptr);
  std::vector<char> in(1000), out(1000, 0);
  for (size_t i = 0; i < in.size(); ++i) in[i] = char(i);
  OK(tcu_copy(context(), a, in.data(), 1000, nullptr));
  OK(tcu_copy(context(), b, a, 1000, nullptr));
  OK(tcu_copy(context(), out.data(), b, 1000, nullptr));
  CHECK(out == in);
  OK(tcu_copy(context(), nullptr, nullptr, 0, nullptr));
  OK(tcu_free(context(), a, nullptr));
  OK(tcu_free(context(), b, nullptr));
  OK(tcu_free(context(), nullptr, nullptr));

  void *p = &p;
  FAILS(TCU_ERROR_NULL, tcu_malloc(nullptr, &p, 8, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_malloc(context(), nullptr, 8, nullptr));
  FAILS(TCU_ERROR_OUT_OF_MEMORY, tcu_malloc(context(), &p, SIZE_MAX, nullptr));
  CHECK(p == nullptr);
  FAILS(TCU_ERROR_OUT_OF_MEMORY, tcu_malloc(context(), &p, size_t(1) << 60, nullptr));
  CHECK(p == nullptr);
  FAILS(TCU_ERROR_NULL, tcu_free(nullptr, nullptr, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_copy(nullptr, out.data(), in.data(), 1, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_copy(context(), nullptr, in.data(), 1, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_copy(context(), out.data(), nullptr, 1, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_synchronize(nullptr, nullptr));
}

TEST_CASE("streams and events") {
  void *stream = nullptr, *from = nullptr, *to = nullptr;
  OK(tcu_stream_create(context(), &stream));
  OK(tcu_event_create(context(), &from));
  OK(tcu_event_create(context(), &to));
  OK(tcu_event_record(context(), from, stream));
  OK(tcu_event_record(context(), to, stream));
  OK(tcu_synchronize(context(), stream));
  float ms = -1;
  OK(tcu_event_elapsed(context(), &ms, from, to));
  CHECK(ms >= 0);
  FAILS(TCU_ERROR_NULL, tcu_event_elapsed(context(), nullptr, from, to));
  FAILS(TCU_ERROR_NULL, tcu_event_elapsed(context(), &ms, nullptr, to));
  FAILS(TCU_ERROR_NULL, tcu_event_record(context(), nullptr, stream));
  FAILS(TCU_ERROR_NULL, tcu_event_create(context(), nullptr));
  FAILS(TCU_ERROR_NULL, tcu_stream_create(context(), nullptr));
  OK(tcu_event_destroy(context(), from));
  OK(tcu_event_destroy(context(), to));
  if (stream) OK(tcu_stream_destroy(context(), stream));
}

TEST_CASE("kernels: the registry by index, and the calls that each row served") {
  int32_t rows = 0;
  OK(tcu_kernel_count(context(), &rows));
  REQUIRE(rows > 0);
  std::set<std::string> names;
  const auto served = [&] {
    int64_t total = 0, calls = 0;
    for (int32_t i = 0; i < rows; ++i) {
      OK(tcu_kernel_calls(context(), i, &calls));
      total += calls;
    }
    return total;
  };
  for (int32_t i = 0; i < rows; ++i) {
    const char *name = nullptr;
    OK(tcu_kernel_name(context(), i, &name));
    names.insert(name);
    CHECK(std::string(name).find('.') != std::string::npos);
  }
  CHECK(names.size() == size_t(rows));
  Array<float> x({4}, {1, 2, 3, 4});
  const int64_t before = served();
  OK(tcu_map(context(), x, nullptr, 1, x, nullptr));
  OK(tcu_scan(context(), x, TCU_REDUCE_SUM, nullptr, 1, x, 0, nullptr));
  CHECK(served() == before + 2);

  const char *name = "untouched";
  int64_t calls = -3;
  for (int32_t bad : {-1, rows, INT32_MAX}) {
    FAILS(TCU_ERROR_OPTION, tcu_kernel_name(context(), bad, &name));
    FAILS(TCU_ERROR_OPTION, tcu_kernel_calls(context(), bad, &calls));
  }
  FAILS(TCU_ERROR_NULL, tcu_kernel_count(nullptr, &rows));
  FAILS(TCU_ERROR_NULL, tcu_kernel_count(context(), nullptr));
  FAILS(TCU_ERROR_NULL, tcu_kernel_name(context(), 0, nullptr));
  FAILS(TCU_ERROR_NULL, tcu_kernel_calls(nullptr, 0, &calls));
  CHECK((std::string(name) == "untouched" && calls == -3));
}
