// A folder of blobs by key that any number of processes share. It may lose entries, and never gives a wrong one: an
// entry carries its whole key and a checksum, is written beside its place and renamed into it. Every failure of the
// file system is a miss.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace tcu::cuda {

class DiskCache {
 public:
  static constexpr int64_t kStandardCapacity = int64_t(256) << 20;  // bytes

  // An empty folder name: a cache that holds nothing. The folder is made at the first store.
  DiskCache(std::string folder, int64_t capacity_bytes);

  std::optional<std::string> load(const std::string &key);
  void store(const std::string &key, const std::string &blob);
  std::string path_of(const std::string &key) const;
  const std::string &folder() const { return folder_; }

 private:
  void trim();

  const std::string folder_;
  const int64_t capacity_;
  std::mutex mutex_;
  int64_t unseen_;  // bytes that this process wrote since it last looked at the folder's size
};

// $TCUOPS_CACHE ("off": none), else $XDG_CACHE_HOME/tcuops, else ~/.cache/tcuops, else none.
std::string standard_cache_folder();

}  // namespace tcu::cuda
