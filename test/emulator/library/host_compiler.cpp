// In place of lib/cuda/nvrtc.cpp: generated source becomes a shared object by the compiler that built this library, with
// its sanitizers, and the emulator's loader takes it by its path. From the build:
//   TCU_HOST_COMPILER, TCU_HOST_FLAGS (with | between them), TCU_KERNELS_HEADER (and beside it the same, compiled)
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <vector>

#include <cuda_runtime.h>

#include "core/error.h"
#include "cuda/compiler.h"

extern "C" char **environ;

namespace tcu::cuda {

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Files of this process, removed when it ends; a process that a sanitizer stops leaves them to its report.
class Scratch {
 public:
  std::string name(const char *suffix) {
    std::lock_guard lock(mutex_);
    paths_.push_back(folder() + "/" + std::to_string(paths_.size()) + suffix);
    return paths_.back();
  }
  static Scratch &get() {
    static Scratch scratch;
    return scratch;
  }

 private:
  const std::string &folder() {
    if (folder_.empty()) {
      std::string made = (fs::temp_directory_path() / "tcuops-emulated-XXXXXX").string();
      if (!::mkdtemp(made.data())) fail(Code::library, "cannot make a folder in %s", fs::temp_directory_path().c_str());
      folder_ = made;
    }
    return folder_;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  std::mutex mutex_;
  std::string folder_;
  std::vector<std::string> paths_;
};

std::vector<std::string> command() {
  std::vector<std::string> arguments{TCU_HOST_COMPILER};
  std::istringstream flags(TCU_HOST_FLAGS);
  for (std::string flag; std::getline(flags, flag, '|');) arguments.push_back(flag);
  return arguments;
}

int run(const std::vector<std::string> &arguments, const std::string &log) {
  std::vector<char *> argv;
  for (const std::string &a : arguments) argv.push_back(const_cast<char *>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) fail(Code::library, "cannot run %s", argv[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::string code_key(const Target &) {
  static const std::string key = [] {
    // Of what kernels include: what was compiled of an older header is not taken for what this one says.
    const auto made = fs::last_write_time(TCU_KERNELS_HEADER ".gch").time_since_epoch().count();
    std::string text = "emulator " __VERSION__ " headers of " + std::to_string(made);
    for (const std::string &argument : command()) text += " " + argument;
    return text + "\n";
  }();
  return key;
}

std::string substitute_key(const Target &) { return ""; }

std::string compile_source(const std::string &source, const Target &) {
  const std::string code = Scratch::get().name(".so"), log = Scratch::get().name(".log");
  const std::string input = Scratch::get().name(".cpp");
  std::ofstream(input) << source;
  std::vector<std::string> arguments = command();
  arguments.insert(arguments.end(), {"-include", TCU_KERNELS_HEADER, "-shared", "-nostdlib", "-o", code, "-x", "c++", input, "-x", "none"});
  Dl_info emulator;
  if (::dladdr(reinterpret_cast<void *>(&emu::launch_count), &emulator)) arguments.push_back(emulator.dli_fname);
  if (run(arguments, log) != 0) {
    const std::string words = text_of(log);
    fail(Code::internal, "%s", words.substr(std::min(words.find("error:"), words.size()), 900).c_str());
  }
  return text_of(code);
}

void open_compiler() {}

std::string loadable(const std::string &code) {
  const std::string path = Scratch::get().name(".so");
  std::ofstream(path, std::ios::binary) << code;
  return path;
}

}  // namespace tcu::cuda
