// LruCache: what was not asked for longest goes first.
#include <memory>

#include "plan/cache.h"
#include "support.h"

using Cache = tcu::LruCache<int, std::shared_ptr<int>, std::hash<int>>;

TEST_CASE("cache: finds what was put in, and nothing else") {
  Cache cache(3);
  CHECK(cache.find(1) == nullptr);
  const auto one = std::make_shared<int>(1);
  CHECK(cache.insert(1, one) == one);
  CHECK(cache.find(1) == one);
  CHECK(cache.find(2) == nullptr);
  CHECK(cache.size() == 1);
}

TEST_CASE("cache: the first of two values for a key stays") {
  Cache cache(3);
  const auto first = std::make_shared<int>(1), second = std::make_shared<int>(1);
  cache.insert(1, first);
  CHECK(cache.insert(1, second) == first);
  CHECK(cache.size() == 1);
}

TEST_CASE("cache: evicts the least recently used, and a find is a use") {
  Cache cache(3);
  for (int k : {1, 2, 3}) cache.insert(k, std::make_shared<int>(k));
  cache.find(1);
  cache.insert(4, std::make_shared<int>(4));
  CHECK(cache.size() == 3);
  CHECK(cache.find(2) == nullptr);
  CHECK(cache.find(1) != nullptr);
  CHECK(cache.find(3) != nullptr);
  CHECK(cache.find(4) != nullptr);
  for (int k = 0; k < 100; ++k) cache.insert(k, std::make_shared<int>(k));
  CHECK(cache.size() == 3);
  CHECK(*cache.find(99) == 99);
}

TEST_CASE("cache: an evicted value lives on with those who hold it") {
  Cache cache(1);
  const auto held = cache.insert(1, std::make_shared<int>(7));
  cache.insert(2, std::make_shared<int>(8));
  CHECK(held.use_count() == 1);
  CHECK(*held == 7);
}
