#include "cuda/shipped.h"

namespace tcu::cuda {

#define TCU_PART(name) void ship_##name(ShippedTable &);
#include "shipped_parts.def"
#undef TCU_PART

void ShippedTable::add(std::string_view body, std::span<const std::string_view> arguments, const std::shared_ptr<const Expr> &expr,
                       std::span<const DType> in, const void *handle, int selector, ParamSize size) {
  Instance f;
  f.size = size;
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
#define TCU_PART(name) ship_##name(*made);
#include "shipped_parts.def"
#undef TCU_PART
    return made;
  }();
  return t;
}
}  // namespace

Shipped shipped(const std::string &name) { return table().find(name); }

}  // namespace tcu::cuda
