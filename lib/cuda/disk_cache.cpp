#include "cuda/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <vector>

#include "core/hash.h"

namespace tcu::cuda {

namespace {

// An entry is this header, the key, the blob. A changed layout takes another magic.
struct Header {
  char magic[8];
  uint64_t key_bytes, blob_bytes, checksum;
};
constexpr char kMagic[8] = {'T', 'C', 'U', 'J', 'I', 'T', '0', '1'};
constexpr char kSuffix[] = ".tcujit";
constexpr int64_t kMaxEntry = int64_t(64) << 20;
constexpr time_t kAbandoned = 3600;  // seconds after which another process's unfinished file is taken for a crash's

uint64_t checksum_of(std::string_view key, std::string_view blob) {
  Hash h;
  h.add_bytes(key.data(), key.size()), h.add_bytes(blob.data(), blob.size());
  return h.value();
}

class File {
 public:
  File(const std::string &path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }

  bool read(std::string &text) const {
    struct stat s;
    if (::fstat(fd_, &s) != 0 || !S_ISREG(s.st_mode) || s.st_size > kMaxEntry) return false;
    text.resize(size_t(s.st_size));
    for (size_t at = 0; at < text.size();) {
      const ssize_t n = ::read(fd_, text.data() + at, text.size() - at);
      if (n <= 0) return false;
      at += size_t(n);
    }
    return true;
  }
  bool write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::write(fd_, text.data(), text.size());
      if (n <= 0) return false;
      text.remove_prefix(size_t(n));
    }
    return true;
  }

 private:
  int fd_;
};

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

void make_folders(const std::string &folder) {
  for (size_t at = folder.find('/', 1);; at = folder.find('/', at + 1)) {
    ::mkdir(folder.substr(0, at).c_str(), 0700);
    if (at == std::string::npos) return;
  }
}

}  // namespace

DiskCache::DiskCache(std::string folder, int64_t capacity_bytes)
    : folder_(std::move(folder)), capacity_(capacity_bytes), unseen_(capacity_bytes) {}

std::string DiskCache::path_of(const std::string &key) const {
  Hash h;
  h.add_bytes(key.data(), key.size());
  char name[32];
  std::snprintf(name, sizeof name, "/%016llx", (unsigned long long)h.value());
  return folder_ + name + kSuffix;
}

std::optional<std::string> DiskCache::load(const std::string &key) {
  if (folder_.empty()) return {};
  const File file(path_of(key), O_RDONLY);
  std::string entry;
  if (!file || !file.read(entry)) return {};
  Header h;
  if (entry.size() < sizeof h) return {};
  std::memcpy(&h, entry.data(), sizeof h);
  const std::string_view rest = std::string_view(entry).substr(sizeof h);
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0 || h.key_bytes != key.size() || rest.size() < key.size() ||
      h.blob_bytes != rest.size() - key.size() || rest.substr(0, key.size()) != key ||
      h.checksum != checksum_of(key, rest.substr(key.size())))
    return {};
  ::futimens(file.fd(), nullptr);  // used now: trim() removes the oldest
  entry.erase(0, sizeof h + key.size());
  return entry;
}

void DiskCache::store(const std::string &key, const std::string &blob) {
  const int64_t bytes = int64_t(sizeof(Header) + key.size() + blob.size());
  if (folder_.empty() || bytes > std::min(kMaxEntry, capacity_)) return;
  static std::atomic<unsigned> serial{0};
  const std::string path = path_of(key);
  const std::string temporary =
      path + "." + std::to_string(::getpid()) + "." + std::to_string(serial.fetch_add(1)) + ".tmp";
  Header h{{}, key.size(), blob.size(), checksum_of(key, blob)};
  std::memcpy(h.magic, kMagic, sizeof kMagic);

  make_folders(folder_);
  bool written = false;
  if (const File file(temporary, O_WRONLY | O_CREAT | O_EXCL); file)
    written = file.write({reinterpret_cast<const char *>(&h), sizeof h}) && file.write(key) && file.write(blob);
  // Not fsync'd: what a power failure leaves behind fails the checksum.
  if (!written || ::rename(temporary.c_str(), path.c_str()) != 0) {
    ::unlink(temporary.c_str());
    return;
  }
  std::lock_guard lock(mutex_);
  unseen_ += bytes;
  // Between two looks at the folder each process adds at most a sixteenth of the capacity.
  if (unseen_ > capacity_ / 16) trim(), unseen_ = 0;
}

void DiskCache::trim() {
  struct Entry {
    std::string path;
    int64_t bytes;
    timespec used;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  DIR *folder = ::opendir(folder_.c_str());
  if (!folder) return;
  const time_t now = ::time(nullptr);
  while (const dirent *d = ::readdir(folder)) {
    const std::string path = folder_ + "/" + d->d_name;
    const bool unfinished = ends_with(d->d_name, ".tmp") && std::strstr(d->d_name, kSuffix);
    struct stat s;
    if (!(unfinished || ends_with(d->d_name, kSuffix)) || ::stat(path.c_str(), &s) != 0) continue;
    if (unfinished && now - s.st_mtim.tv_sec > kAbandoned) {
      ::unlink(path.c_str());
      continue;
    }
    total += s.st_size;
    if (!unfinished) entries.push_back({path, int64_t(s.st_size), s.st_mtim});
  }
  ::closedir(folder);
  if (total <= capacity_ - capacity_ / 16) return;
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
  });
  for (const Entry &e : entries) {
    if (total <= capacity_ / 4 * 3) return;
    if (::unlink(e.path.c_str()) == 0) total -= e.bytes;
  }
}

std::string standard_cache_folder() {
  const auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  const std::string own = variable("TCUOPS_CACHE"), xdg = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (own == "off") return "";
  if (!own.empty()) return own;
  if (!xdg.empty() && xdg[0] == '/') return xdg + "/tcuops";
  if (!home.empty()) return home + "/.cache/tcuops";
  return "";
}

}  // namespace tcu::cuda
