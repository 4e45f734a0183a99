#include "cuda/ship_general.cuh"

namespace tcu::cuda {
namespace {
template <class In>
void ship_copies(ShippedTable &t) {
  copy<In>(t).as_it_is(), copy<In>(t).turned(), copy<In>(t).pixels();
}
}  // namespace

void ship_general_bytes(ShippedTable &t) { ship_copies<int8_t>(t), ship_copies<uint8_t>(t); }
}  // namespace tcu::cuda
