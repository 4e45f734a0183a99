// A bounded, thread-safe map that forgets what was not asked for longest.
#pragma once
#include <list>
#include <mutex>
#include <unordered_set>
#include <utility>

namespace tcu {

// find() takes whatever Hasher hashes as it does a Key and == compares with one, so that nothing is copied to ask.
template <class Key, class Value, class Hasher>
class LruCache {
 public:
  explicit LruCache(size_t capacity) : capacity_(capacity) {}

  // The value, or a default-constructed one.
  template <class Asked>
  Value find(const Asked &asked) {
    std::lock_guard lock(mutex_);
    const auto at = index_.find(asked);
    if (at == index_.end()) return Value{};
    entries_.splice(entries_.begin(), entries_, *at);
    return (*at)->second;
  }

  // Of two threads that make the same entry, the first one's stays and both get it.
  Value insert(Key key, Value value) {
    std::lock_guard lock(mutex_);
    if (const auto at = index_.find(key); at != index_.end()) return (*at)->second;
    entries_.emplace_front(std::move(key), std::move(value));
    index_.insert(entries_.begin());
    if (entries_.size() > capacity_) {
      index_.erase(std::prev(entries_.end()));
      entries_.pop_back();
    }
    return entries_.front().second;
  }

  size_t size() const {
    std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  using Entry = std::pair<Key, Value>;
  using At = typename std::list<Entry>::iterator;
  struct ByKey {
    using is_transparent = void;
    static const Key &key(At at) { return at->first; }
    template <class Asked>
    static const Asked &key(const Asked &asked) { return asked; }
    template <class A>
    size_t operator()(const A &a) const { return Hasher{}(key(a)); }
    template <class A, class B>
    bool operator()(const A &a, const B &b) const { return key(a) == key(b); }
  };
  size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the last one asked for first
  std::unordered_set<At, ByKey, ByKey> index_;
};

}  // namespace tcu
