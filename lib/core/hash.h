// A 64-bit hash that is the same on every machine and in every version of the library (disk caches depend on it).
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tcu {

class Hash {
 public:
  // One round of multiply and xor-shift per 64-bit word (the finaliser of MurmurHash3).
  void add(uint64_t word) {
    uint64_t h = state_ ^ (word + 0x9e3779b97f4a7c15u + (state_ << 6));
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    state_ = h ^ (h >> 33);
  }
  void add_bytes(const void *data, size_t n) {
    const auto *p = static_cast<const unsigned char *>(data);
    uint64_t word = 0;
    for (size_t i = 0; i < n; ++i) {
      word |= uint64_t(p[i]) << (8 * (i % 8));
      if (i % 8 == 7) add(word), word = 0;
    }
    add(word), add(n);
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0x7463756f7073ull;  // "tcuops"
};

// One for tables in memory, not for what outlives a build: a product a word.
class QuickHash {
 public:
  void add(uint64_t word) {
    const auto product = static_cast<unsigned __int128>(state_ ^ word) * 0x9e3779b97f4a7c15u;
    state_ = uint64_t(product) ^ uint64_t(product >> 64);
  }
  // The last word says how long the text is: its bytes are seven at most.
  void add_text(std::string_view text) {
    for (; text.size() >= 8; text.remove_prefix(8)) add(word_of(text, 8));
    add(word_of(text, text.size()) ^ uint64_t(text.size()) << 56);
  }
  uint64_t value() const { return state_; }

 private:
  static uint64_t word_of(std::string_view text, size_t n) {
    uint64_t word = 0;
    std::memcpy(&word, text.data(), n);
    return word;
  }
  uint64_t state_ = 0x7463756f7073ull;
};

}  // namespace tcu
