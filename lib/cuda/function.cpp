#include "cuda/function.h"

#include <algorithm>
#include <optional>

#include "core/hash.h"
#include "cuda/cuda_error.h"
#include "plan/cache.h"

namespace tcu::cuda {

namespace {

// What has been asked for, by threads that may outlive static objects.
template <class Cache>
Cache &kept() {
  static Cache &cache = *new Cache(4096);
  return cache;
}

struct InstanceHash {
  size_t operator()(const Instance &f) const {
    QuickHash h;
    h.add_text(f.body), h.add_text(f.arguments);
    h.add(uint64_t(f.size) | uint64_t(f.n_inputs) << 8 | uint64_t(f.more[0]) << 16 | uint64_t(f.more[1]) << 24 | uint64_t(f.more[2]) << 32);
    h.add(uint64_t(f.n_kept) << 32 | uint64_t(f.n_folded));
    h.add_text({reinterpret_cast<const char *>(f.in), size_t(f.n_inputs) * sizeof f.in[0]});
    h.add(f.expr->hash());
    return h.value();
  }
};
Shipped known(const Instance &f) {
  auto &cache = kept<LruCache<Instance, std::optional<Shipped>, InstanceHash>>();
  if (const auto found = cache.find(f)) return *found;
  Instance any = f;
  any.n_kept = Instance::kAny, any.n_folded = 0;
  return *cache.insert(f, shipped(name_of(any)));
}

// What launches may ask for: all of a block's shared memory; clusters of any size that the device has.
struct Allowed {
  bool shares, clusters;
  bool operator==(const Allowed &) const = default;
};
// An instance made ready on a device; I: Instance, or a reference to ask.
template <class I>
struct OnOne {
  I instance;
  int ordinal;
  Allowed allowed;
  template <class J>
  bool operator==(const OnOne<J> &o) const { return ordinal == o.ordinal && allowed == o.allowed && instance == o.instance; }
};
struct OnOneHash {
  template <class I>
  size_t operator()(const OnOne<I> &f) const { return InstanceHash{}(f.instance) + size_t(f.ordinal) * 4 + f.allowed.shares * 2 + f.allowed.clusters; }
};

int driver_version() {
  static const int version = [] {
    int v = 0;
    return cudaDriverGetVersion(&v) == cudaSuccess ? v : 0;
  }();
  return version;
}

Function make(const Instance &f, int ordinal, Allowed allowed, bool now) {
  const OnDevice guard(ordinal);
  const Shipped shipped = known(f);
  Function made;
  made.ordinal = ordinal;
  made.handle = shipped.handle, made.selector = shipped.selector;
  if (!made.handle) made.handle = (now ? compile_beside : compile)(f, ordinal), made.compiled = true;
  if (!made.handle) return made;
  const RelaxedCapture relaxed;  // the runtime may load the function's code now
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, made.handle), "loading a kernel");
  made.in_turn = attributes.ptxVersion >= 90 && driver_version() >= 12030;  // before 12.3 such a launch cannot be captured
  if (allowed.clusters) check(cudaFuncSetAttribute(made.handle, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "asking for clusters");
  if (allowed.shares) {  // more than 48 KiB has to be allowed; as much as there is, for plans of one function may differ
    int most = 0;
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal), "asking for a block's shared memory");
    check(cudaFuncSetAttribute(made.handle, cudaFuncAttributeMaxDynamicSharedMemorySize, most - int(attributes.sharedSizeBytes)),
          "asking for shared memory");
  }
  return made;
}

}  // namespace

bool Instance::operator==(const Instance &o) const {
  return body == o.body && arguments == o.arguments && size == o.size && n_kept == o.n_kept && n_folded == o.n_folded &&
         n_more == o.n_more && n_inputs == o.n_inputs &&
         std::equal(more, more + n_more, o.more) && std::equal(in, in + n_inputs, o.in) && *expr == *o.expr;
}

bool is_shipped(const Instance &f) { return known(f).handle != nullptr; }

Function resolve(const Instance &f, int ordinal, const LaunchConfig &config, bool now) {
  auto &cache = kept<LruCache<OnOne<Instance>, Function, OnOneHash>>();
  const OnOne<const Instance &> asked{f, ordinal, {config.shared_bytes > 0, config.cluster > 1}};
  if (const Function found = cache.find(asked); found.handle) return found;
  const Function made = make(f, ordinal, asked.allowed, now);
  return made.handle ? cache.insert({f, ordinal, asked.allowed}, made) : made;
}

}  // namespace tcu::cuda
