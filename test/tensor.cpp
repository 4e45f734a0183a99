#include "tensor.h"

namespace tensors {

void encode(tcu_dtype_t d, void *to, double x) {
  with_type(d, [&](auto t) { t = tcu::convert<decltype(t)>(x), std::memcpy(to, &t, sizeof t); });
}
double decode(tcu_dtype_t d, const void *from) {
  return with_type(d, [&](auto t) { return std::memcpy(&t, from, sizeof t), tcu::convert<double>(t); });
}
double rounded(tcu_dtype_t d, double x) {
  unsigned char bytes[16];
  return encode(d, bytes, x), decode(d, bytes);
}

}  // namespace tensors
