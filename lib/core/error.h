// Errors inside the library are exceptions of one type; the guard in capi/ turns them into a status and a message, so
// none crosses the C boundary. Codes are the values of TCU_ERROR_* in tcuops.h, pinned there.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tcu {

enum class Code : int32_t {
  ok = 0, null = 1, dtype = 2, op = 3, expr = 4, rank = 5, extent = 6, overflow = 7, shape = 8, alias = 9, overlap = 10,
  dim = 11, reduced_mode = 12, empty = 13, struct_size = 14, option = 15, kernel = 16, workspace = 17, alignment = 18,
  device = 19, out_of_memory = 20, unsupported = 21, library = 22, cuda = 23, internal = 24
};

struct Error : std::runtime_error {
  Error(Code c, const std::string &message) : std::runtime_error(message), code(c) {}
  Code code;
};

// fail(Code::shape, "out has extent %lld ...", n): one line that says what was wrong with which argument and what to do.
[[noreturn]] void fail(Code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace tcu
