// The functions that the library ships: name_of(instance) -> a kernel compiled ahead of time. The files shipped_*.cu
// instantiate them, each its part, so that a build can compile them side by side.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cuda/function.h"

namespace tcu::cuda {

class ShippedTable {
 public:
  // body<map, arguments> for the element function `expr` of inputs of dtypes `in`.
  void add(std::string_view body, std::span<const std::string_view> arguments, const std::shared_ptr<const Expr> &expr,
           std::span<const DType> in, const void *handle, int selector);
  Shipped find(const std::string &name) const;
  size_t size() const { return entries_.size(); }

 private:
  std::unordered_map<std::string, Shipped> entries_;
};

void ship_broadcast_f32(ShippedTable &);
void ship_broadcast_f64(ShippedTable &);
void ship_broadcast_f16(ShippedTable &);
void ship_broadcast_bf16(ShippedTable &);
void ship_broadcast_integers(ShippedTable &);
void ship_broadcast_casts(ShippedTable &);
void ship_general_floats(ShippedTable &);
void ship_general_halves(ShippedTable &);
void ship_general_integers(ShippedTable &);
void ship_broadcast_any(ShippedTable &);
void ship_reduce_floats(ShippedTable &);
void ship_reduce_halves(ShippedTable &);
void ship_reduce_integers(ShippedTable &);
void ship_reduce_bytes(ShippedTable &);
void ship_reduce_moments(ShippedTable &);
void ship_scan_floats(ShippedTable &);
void ship_scan_halves(ShippedTable &);
void ship_scan_integers(ShippedTable &);

}  // namespace tcu::cuda
