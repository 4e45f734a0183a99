// A bounded, thread-safe map that forgets what was not asked for longest.
#pragma once
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace tcu {

template <class Key, class Value, class Hasher>
class LruCache {
 public:
  explicit LruCache(size_t capacity) : capacity_(capacity) {}

  // The value, or a default-constructed one.
  Value find(const Key &key) {
    std::lock_guard lock(mutex_);
    const auto at = index_.find(key);
    if (at == index_.end()) return Value{};
    entries_.splice(entries_.begin(), entries_, at->second);
    return at->second->second;
  }

  // Of two threads that make the same entry, the first one's stays and both get it.
  Value insert(const Key &key, Value value) {
    std::lock_guard lock(mutex_);
    if (const auto at = index_.find(key); at != index_.end()) return at->second->second;
    entries_.emplace_front(key, std::move(value));
    index_.emplace(key, entries_.begin());
    if (entries_.size() > capacity_) {
      index_.erase(entries_.back().first);
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
  size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;
  std::unordered_map<Key, typename std::list<Entry>::iterator, Hasher> index_;
};

}  // namespace tcu
