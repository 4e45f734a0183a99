// What tests of core and plan share: requests that own their arrays, and the code that a failing call fails with.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/problem.h"
#include "support.h"

namespace support {

// The code that f fails with, or Code::ok. A failure without a message counts as a bug.
template <class F>
tcu::Code code_of(F &&f) {
  try {
    f();
    return tcu::Code::ok;
  } catch (const tcu::Error &e) {
    return *e.what() ? e.code : tcu::Code::internal;
  }
}

inline void *fake_address(uintptr_t bytes) { return reinterpret_cast<void *>(bytes); }

// A request over made-up addresses: nothing in core or plan touches data.
struct Call {
  struct Tensor {
    Sizes extents, strides;
    bool is_dense;
    tcu::DType dtype;
    void *data;
  };
  std::deque<Tensor> tensors;  // the output, then the inputs
  std::vector<tcu::DType> results;  // beside out, which lie as it does
  std::vector<tcu::TensorView> views, more;
  tcu::Request request;

  Call &tensor(tcu::DType d, Sizes extents) { return add({std::move(extents), {}, true, d, next()}); }
  Call &tensor(tcu::DType d, Sizes extents, Sizes strides) { return add({std::move(extents), std::move(strides), false, d, next()}); }
  Call &result(tcu::DType d) { return results.push_back(d), *this; }
  Call &at(uintptr_t address) { return tensors.back().data = fake_address(address), *this; }
  Call &expr(std::vector<tcu::Node> nodes) {
    return request.expr = std::make_shared<const tcu::Expr>(std::move(nodes)), *this;
  }
  const tcu::Request &get() {
    views.clear();
    for (const Tensor &t : tensors)
      views.push_back({t.data, t.dtype, int(t.extents.size()), t.extents.data(), t.is_dense ? nullptr : t.strides.data()});
    request.out = views.at(0);
    request.inputs = views.data() + 1, request.n_inputs = int(views.size()) - 1;
    more.assign(results.size(), request.out);
    for (size_t i = 0; i < more.size(); ++i) more[i].dtype = results[i], more[i].data = fake_address((100 + i) << 40);
    request.more = more.data(), request.n_more = int(more.size());
    return request;
  }
  tcu::Problem map() { return tcu::make_broadcast(get()); }
  tcu::Problem reduce(tcu::ReduceOp op, std::vector<int32_t> dims) {
    return tcu::make_reduce(get(), op, int(dims.size()), dims.data());
  }
  tcu::Problem scan(tcu::ReduceOp op, int dim, tcu::ScanFlags flags = {}) { return tcu::make_scan(get(), op, dim, flags); }

 private:
  Call &add(Tensor t) { return tensors.push_back(std::move(t)), *this; }
  void *next() const { return fake_address((uintptr_t(tensors.size()) + 1) << 40); }  // far from each other
};

inline std::vector<tcu::Node> sum_of_inputs(int n) {
  std::vector<tcu::Node> nodes{tcu::Node::input(0)};
  for (int i = 1; i < n; ++i) nodes.push_back(tcu::Node::input(i)), nodes.push_back(tcu::Node::op(tcu::Op::add));
  return nodes;
}

}  // namespace support
