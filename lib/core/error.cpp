#include "core/error.h"

#include <cstdarg>
#include <cstdio>

namespace tcu {

void fail(Code code, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  throw Error(code, text);
}

}  // namespace tcu
