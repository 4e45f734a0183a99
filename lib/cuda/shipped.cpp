#include "cuda/shipped.h"

namespace tcu::cuda {

void ShippedTable::add(std::string_view body, std::span<const std::string_view> arguments, const std::shared_ptr<const Expr> &expr,
                       std::span<const DType> in, const void *handle, int selector) {
  Instance f;
  f.body = body;
  for (const std::string_view a : arguments) f.arguments.append(f.arguments.empty() ? "" : ", ").append(a);
  f.n_inputs = int(in.size());
  std::copy(in.begin(), in.end(), f.in);
  f.expr = expr;
  entries_.emplace(name_of(f), Shipped{handle, selector});
}

Shipped ShippedTable::find(const std::string &name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() ? Shipped{} : at->second;
}

namespace {
// Made at the first use: about 2 ms.
const ShippedTable &table() {
  static const ShippedTable &t = *[] {
    auto *made = new ShippedTable;  // outlives every thread that may ask
    ship_broadcast_f32(*made), ship_broadcast_f64(*made), ship_broadcast_f16(*made), ship_broadcast_bf16(*made);
    ship_broadcast_integers(*made), ship_broadcast_casts(*made), ship_broadcast_any(*made);
    ship_general_floats(*made), ship_general_halves(*made), ship_general_integers(*made);
    ship_reduce_floats(*made), ship_reduce_halves(*made), ship_reduce_integers(*made), ship_reduce_bytes(*made);
    ship_reduce_moments(*made), ship_scan_floats(*made), ship_scan_halves(*made), ship_scan_integers(*made);
    return made;
  }();
  return t;
}
}  // namespace

Shipped shipped(const std::string &name) { return table().find(name); }

}  // namespace tcu::cuda
