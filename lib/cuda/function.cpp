#include "cuda/function.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/hash.h"
#include "cuda/cuda_error.h"

namespace tcu::cuda {

namespace {

// Instances by their parts: what has one name may stand here twice, by tapes that come to the same.
struct Parts {
  size_t operator()(const Instance &f) const {
    QuickHash h;
    h.add_text(f.body), h.add_text(f.arguments);
    h.add(uint64_t(f.size) | uint64_t(f.second) << 8 | uint64_t(f.n_inputs) << 16);
    h.add_text({reinterpret_cast<const char *>(f.in), size_t(f.n_inputs) * sizeof f.in[0]});
    h.add(f.expr->hash());
    return h.value();
  }
  bool operator()(const Instance &a, const Instance &b) const {
    return std::strcmp(a.body, b.body) == 0 && a.arguments == b.arguments && a.size == b.size && a.second == b.second &&
           a.n_inputs == b.n_inputs && std::equal(a.in, a.in + a.n_inputs, b.in) && *a.expr == *b.expr;
  }
};

struct Known {
  Shipped shipped;
  std::vector<Function> functions;  // one for each device that asked; more where two threads did, or one asked for shared memory later
};

class Table {
 public:
  // f(what is known), under the lock.
  template <class F>
  auto with(const Instance &instance, F &&f) {
    std::lock_guard lock(mutex_);
    auto at = known_.find(instance);
    if (at == known_.end()) {
      if (known_.size() == kMost) known_.clear();
      at = known_.emplace(instance, Known{shipped(name_of(instance)), {}}).first;
    }
    return f(at->second);
  }

 private:
  static constexpr size_t kMost = 4096;  // then it forgets all, to find it again by name
  std::mutex mutex_;
  std::unordered_map<Instance, Known, Parts, Parts> known_;
};
Table &table() {
  static Table &t = *new Table;  // threads may outlive static objects
  return t;
}

int driver_version() {
  static const int version = [] {
    int v = 0;
    return cudaDriverGetVersion(&v) == cudaSuccess ? v : 0;
  }();
  return version;
}

Function make(const Instance &f, const Shipped &shipped, int ordinal, bool shares) {
  const OnDevice guard(ordinal);
  Function made;
  made.ordinal = ordinal, made.shares = shares;
  made.handle = shipped.handle, made.selector = shipped.selector;
  if (!made.handle) made.handle = compile(f, ordinal), made.compiled = true;
  const RelaxedCapture relaxed;  // the runtime may load the function's code now
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, made.handle), "loading a kernel");
  made.in_turn = attributes.ptxVersion >= 90 && driver_version() >= 12030;  // before 12.3 such a launch cannot be captured
  if (shares) {  // more than 48 KiB has to be allowed; as much as there is, for plans of one function may differ
    int most = 0;
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal), "asking for a block's shared memory");
    check(cudaFuncSetAttribute(made.handle, cudaFuncAttributeMaxDynamicSharedMemorySize, most - int(attributes.sharedSizeBytes)),
          "asking for shared memory");
  }
  return made;
}

}  // namespace

bool is_shipped(const Instance &f) {
  return table().with(f, [](const Known &known) { return known.shipped.handle != nullptr; });
}

Function resolve(const Instance &f, int ordinal, int shared_bytes) {
  Shipped shipped;
  const auto ready = [&](const Function &r) { return r.ordinal == ordinal && (r.shares || shared_bytes == 0); };
  const Function found = table().with(f, [&](const Known &known) {
    shipped = known.shipped;
    const auto at = std::find_if(known.functions.begin(), known.functions.end(), ready);
    return at == known.functions.end() ? Function{} : *at;
  });
  if (found.handle) return found;
  const Function made = make(f, shipped, ordinal, shared_bytes > 0);  // not under the lock: it may compile
  return table().with(f, [&](Known &known) { return known.functions.emplace_back(made); });
}

}  // namespace tcu::cuda
