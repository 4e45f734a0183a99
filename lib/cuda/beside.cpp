#include "cuda/beside.h"

#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace tcu::cuda {

namespace {

// Libraries that a piece opens register what exit() is to do when they are first used, and exit() goes from the last registered to the first. So
// the end of this is registered after each piece, to come before theirs, and exit() in a thread that has asked waits for the first two pieces
// (Asker), as does that thread's end: compilers register most of it at their first use. (NVRTC 13, with the end of this alone: of 60 processes
// that ended within their first three compilations 23 died or hung.)
class Beside {
 public:
  bool add(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (ends_ || is_child()) return false;
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { run(); });
      } catch (const std::system_error &) {
        return false;
      }
      std::atexit(end_all);
    }
    work_.push_back(std::move(work));
    changed_.notify_all();
    return true;
  }
  void wait_for_first() {
    if (is_child()) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ends_ || done_ >= 2 || (idle_ && work_.empty()); });
  }

 private:
  void run() {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [this] { return ends_ || !work_.empty(); });
      if (ends_) return;
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front(), idle_ = false;
      lock.unlock();
      try {
        work();
      } catch (...) {
      }
      std::atexit(end_all);
      lock.lock();
      ++done_, idle_ = true;
      changed_.notify_all();
    }
  }
  void end() {
    if (is_child()) return;
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  static void end_all();
  bool is_child() const { return ::getpid() != process_; }  // after fork() there is no such thread

  const ::pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::thread thread_;
  int done_ = 0;
  bool idle_ = true, ends_ = false;
};

Beside &beside() {
  static Beside &one = *new Beside;  // outlives every thread that may ask
  return one;
}
void Beside::end_all() { beside().end(); }

struct Asker {
  ~Asker() { beside().wait_for_first(); }
};

}  // namespace

bool do_beside(std::function<void()> work) {
  static thread_local const Asker asker;
  return static_cast<void>(&asker), beside().add(std::move(work));
}

}  // namespace tcu::cuda
