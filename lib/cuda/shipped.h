// The functions that the library ships: name_of(instance) -> a kernel compiled ahead of time. A file shipped_<part>.cu instantiates
// its part of them in ship_<part>(ShippedTable &), so that a build can compile them side by side, or some alone (TCUOPS_SHIP).
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
           std::span<const DType> in, const void *handle, int selector, ParamSize size = ParamSize::small);
  Shipped find(const std::string &name) const;
  size_t size() const { return entries_.size(); }

 private:
  std::unordered_map<std::string, Shipped> entries_;
};

}  // namespace tcu::cuda
