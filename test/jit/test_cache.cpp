// The disk cache of compiled functions: what is on the disk may be anything, what it gives is right or nothing.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cuda/disk_cache.h"
#include "support.h"

namespace fs = std::filesystem;
using tcu::cuda::DiskCache;

namespace {

class Folder {
 public:
  Folder() {
    std::string made = (fs::temp_directory_path() / "tcuops-test-XXXXXX").string();
    REQUIRE(::mkdtemp(made.data()));
    path = made;
  }
  ~Folder() { fs::remove_all(path); }
  std::string path;
};

constexpr int64_t kRoomy = 1 << 24;

std::string bytes_of(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}
// Any bytes, zeros among them.
std::string blob_of(int seed, size_t size) {
  support::Rng rng(static_cast<unsigned>(seed));
  std::string blob(size, '\0');
  for (char &c : blob) c = char(rng());
  return blob;
}
int64_t size_of(const std::string &folder) {
  int64_t total = 0;
  for (const auto &entry : fs::directory_iterator(folder)) total += int64_t(entry.file_size());
  return total;
}
void set_age(const std::string &path, int seconds) {
  const time_t then = std::time(nullptr) - seconds;
  const utimbuf times{then, then};
  REQUIRE(::utime(path.c_str(), &times) == 0);
}

}  // namespace

TEST_CASE("disk cache: gives what was stored, in a folder that it makes") {
  Folder folder;
  DiskCache cache(folder.path + "/a/b", kRoomy);
  CHECK(!cache.load("key"));
  cache.store("key", blob_of(1, 1000));
  cache.store("empty", "");
  CHECK(cache.load("key") == blob_of(1, 1000));
  CHECK(cache.load("empty") == "");
  CHECK(!cache.load("kez"));
  CHECK(DiskCache(folder.path + "/a/b", kRoomy).load("key") == blob_of(1, 1000));
  cache.store("key", "newer");
  CHECK(cache.load("key") == "newer");
}

TEST_CASE("disk cache: an entry with any byte changed, cut short or grown is a miss, and is rebuilt") {
  Folder folder;
  DiskCache cache(folder.path, kRoomy);
  cache.store("key", blob_of(2, 40));
  const std::string path = cache.path_of("key"), good = bytes_of(path);
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = char(bad[at] ^ 0x10);
    write(path, bad);
    INFO("byte " << at);
    CHECK(!cache.load("key"));
    write(path, good.substr(0, at));
    CHECK(!cache.load("key"));
  }
  write(path, good + "x");
  CHECK(!cache.load("key"));
  cache.store("key", "rebuilt");
  CHECK(cache.load("key") == "rebuilt");
}

TEST_CASE("disk cache: entries of another key, and things that are no entry, are misses") {
  Folder folder;
  DiskCache cache(folder.path, kRoomy);
  cache.store("one", "1"), cache.store("two", "2");
  fs::copy_file(cache.path_of("two"), cache.path_of("one"), fs::copy_options::overwrite_existing);
  CHECK(!cache.load("one"));
  fs::remove(cache.path_of("one"));
  fs::create_directory(cache.path_of("one"));
  CHECK(!cache.load("one"));
  cache.store("one", "1");  // cannot be renamed onto a folder
  CHECK(!cache.load("one"));
  fs::remove(cache.path_of("two"));
  fs::create_symlink("/nowhere/at/all", cache.path_of("two"));
  CHECK(!cache.load("two"));
  cache.store("two", "2");
  CHECK(cache.load("two") == "2");
  for (const auto &entry : fs::directory_iterator(folder.path)) CHECK(entry.path().extension() != ".tmp");
}

TEST_CASE("disk cache: a folder that cannot be written, or none, is an empty cache") {
  Folder folder;
  write(folder.path + "/file", "in the way");
  for (const std::string &bad : {std::string(), folder.path + "/file/below", std::string("/proc/tcuops")}) {
    DiskCache cache(bad, kRoomy);
    cache.store("key", "blob");
    CHECK(!cache.load("key"));
  }
}

TEST_CASE("disk cache: stays within its capacity and forgets what was not used for longest") {
  Folder folder;
  constexpr int64_t kCapacity = 100 * 1000;
  DiskCache cache(folder.path, kCapacity);
  cache.store("kept", blob_of(0, 900));
  write(folder.path + "/notes.txt", "not ours");
  for (int i = 0; i < 500; ++i) {
    cache.store("entry " + std::to_string(i), blob_of(i, 900));
    set_age(cache.path_of("entry " + std::to_string(i)), 10000 - i);
    if (i % 5 == 0) CHECK(cache.load("kept") == blob_of(0, 900));  // touches it
    REQUIRE(size_of(folder.path) <= kCapacity + kCapacity / 16);
  }
  CHECK(!cache.load("entry 0"));
  CHECK(cache.load("entry 499") == blob_of(499, 900));
  CHECK(fs::exists(folder.path + "/notes.txt"));
  cache.store("too large", std::string(size_t(kCapacity), 'x'));
  CHECK(!cache.load("too large"));
}

TEST_CASE("disk cache: what a crash left behind is removed after a while, and another process's work is not") {
  Folder folder;
  const std::string old_file = folder.path + "/0.tcujit.1.0.tmp", new_file = folder.path + "/0.tcujit.2.0.tmp";
  write(old_file, "half an ent"), write(new_file, "half an ent");
  set_age(old_file, 2 * 3600);
  DiskCache cache(folder.path, kRoomy);
  cache.store("key", "blob");
  CHECK(!fs::exists(old_file));
  CHECK(fs::exists(new_file));
}

TEST_CASE("disk cache: processes and threads that write and read the same keys at once") {
  Folder folder;
  constexpr int kKeys = 7, kRounds = 300;
  // Every writer of a key has a blob of its own; a reader must get one of them whole.
  const auto work = [&](int writer) {
    DiskCache cache(folder.path, 64 * 1024);  // small: entries also vanish meanwhile
    bool right = true;
    for (int round = 0; round < kRounds; ++round) {
      const int k = (round * 5 + writer) % kKeys;
      const std::string key = "key " + std::to_string(k);
      cache.store(key, std::string(size_t(1000 + 700 * k + writer), char('a' + writer)));
      if (const auto blob = cache.load(key)) {
        const int by = (*blob)[0] - 'a';
        right &= by >= 0 && by < 8 && *blob == std::string(size_t(1000 + 700 * k + by), char('a' + by));
      }
    }
    return right;
  };
  std::vector<pid_t> children;
  for (int writer = 0; writer < 3; ++writer) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(work(writer) ? 0 : 1);
    children.push_back(child);
  }
  bool right[2] = {};
  std::thread threads[2];
  for (int i = 0; i < 2; ++i) threads[i] = std::thread([&, i] { right[i] = work(3 + i); });
  for (std::thread &t : threads) t.join();
  CHECK(right[0]);
  CHECK(right[1]);
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  for (const auto &entry : fs::directory_iterator(folder.path)) CHECK(entry.path().extension() != ".tmp");
}

TEST_CASE("disk cache: a process that is killed while it writes leaves nothing that is taken for an entry") {
  Folder folder;
  const std::string blob = blob_of(9, 1 << 20);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      DiskCache cache(folder.path, kRoomy);
      for (int i = 0;; ++i) cache.store("key " + std::to_string(i % 3), blob);
    }
    ::usleep(3000);
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    DiskCache cache(folder.path, kRoomy);
    for (int i = 0; i < 3; ++i)
      if (const auto found = cache.load("key " + std::to_string(i))) CHECK((*found == blob));
  }
}

TEST_CASE("disk cache: the standard folder") {
  struct Restore {
    const char *name;
    std::string old;
    bool set;
    explicit Restore(const char *n) : name(n), set(std::getenv(n)) {
      if (set) old = std::getenv(n);
    }
    ~Restore() {
      if (set) ::setenv(name, old.c_str(), 1);
      else ::unsetenv(name);
    }
  } own("TCUOPS_CACHE"), xdg("XDG_CACHE_HOME"), home("HOME");
  ::setenv("HOME", "/home/u", 1), ::setenv("XDG_CACHE_HOME", "/x", 1), ::setenv("TCUOPS_CACHE", "/own", 1);
  CHECK(tcu::cuda::standard_cache_folder() == "/own");
  ::setenv("TCUOPS_CACHE", "off", 1);
  CHECK(tcu::cuda::standard_cache_folder().empty());
  ::unsetenv("TCUOPS_CACHE");
  CHECK(tcu::cuda::standard_cache_folder() == "/x/tcuops");
  ::setenv("XDG_CACHE_HOME", "relative/is/ignored", 1);
  CHECK(tcu::cuda::standard_cache_folder() == "/home/u/.cache/tcuops");
  ::unsetenv("XDG_CACHE_HOME"), ::unsetenv("HOME");
  CHECK(tcu::cuda::standard_cache_folder().empty());
}
