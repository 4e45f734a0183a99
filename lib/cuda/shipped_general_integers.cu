#include "cuda/ship_general.cuh"

namespace tcu::cuda {
namespace {
template <class In>
void ship_bytes(ShippedTable &t) {
  copy<In>(t).as_it_is(), copy<In>(t).turned(), copy<In>(t).pixels();
}
}  // namespace

void ship_general_integers(ShippedTable &t) {
  ship_general<int32_t>(t), ship_general<int64_t>(t);
  ship_bytes<int8_t>(t), ship_bytes<uint8_t>(t);
}
}  // namespace tcu::cuda
