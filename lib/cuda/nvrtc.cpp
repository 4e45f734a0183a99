#include "cuda/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "core/error.h"
#include "cuda/compiler.h"
#include "cuda/dynamic_library.h"
#include "cuda/embedded.h"

namespace tcu::cuda {

namespace {

// The part of NVRTC's ABI that is used; stable since CUDA 11.
struct Program_st;
using Program = Program_st *;
struct Nvrtc {
  int (*version)(int *major, int *minor);
  const char *(*error)(int result);
  int (*n_architectures)(int *n);
  int (*architectures)(int *list);
  int (*create)(Program *program, const char *source, const char *name, int n_headers, const char *const *texts,
                const char *const *names);
  int (*destroy)(Program *program);
  int (*compile)(Program program, int n_options, const char *const *options);
  int (*log_size)(Program program, size_t *bytes);
  int (*log)(Program program, char *text);
  int (*cubin_size)(Program program, size_t *bytes);
  int (*cubin)(Program program, char *code);
  int (*ptx_size)(Program program, size_t *bytes);
  int (*ptx)(Program program, char *code);

  int major = 0, minor = 0;
  std::vector<int> known;  // architectures, ascending: 75, 80, ...

  static const Nvrtc *open() {
    std::string path;
    void *library = open_toolkit_library("nvrtc", &path);
    if (!library) return nullptr;
    auto n = std::make_unique<Nvrtc>();
    bind(library, "nvrtcVersion", n->version);
    bind(library, "nvrtcGetErrorString", n->error);
    bind(library, "nvrtcGetNumSupportedArchs", n->n_architectures);
    bind(library, "nvrtcGetSupportedArchs", n->architectures);
    bind(library, "nvrtcCreateProgram", n->create);
    bind(library, "nvrtcDestroyProgram", n->destroy);
    bind(library, "nvrtcCompileProgram", n->compile);
    bind(library, "nvrtcGetProgramLogSize", n->log_size);
    bind(library, "nvrtcGetProgramLog", n->log);
    bind(library, "nvrtcGetCUBINSize", n->cubin_size);
    bind(library, "nvrtcGetCUBIN", n->cubin);
    bind(library, "nvrtcGetPTXSize", n->ptx_size);
    bind(library, "nvrtcGetPTX", n->ptx);
    n->check(n->version(&n->major, &n->minor), "asking for its version");
    int count = 0;
    n->check(n->n_architectures(&count), "asking for its architectures");
    n->known.resize(size_t(count));
    n->check(n->architectures(n->known.data()), "asking for its architectures");
    std::sort(n->known.begin(), n->known.end());
    // NVRTC opens its builtins by name alone; from a folder that the loader does not search it would not find them.
    if (const size_t slash = path.rfind('/'); slash != std::string::npos) {
      const std::string version = std::to_string(n->major) + "." + std::to_string(n->minor);
      ::dlopen((path.substr(0, slash) + "/libnvrtc-builtins.so." + version).c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
    return n.release();  // lives as long as the process
  }
  static const Nvrtc *find() {
    static const Nvrtc *const found = open();
    return found;
  }
  static const Nvrtc &get() {
    if (const Nvrtc *n = find()) return *n;
    fail(Code::library, "this expression needs a kernel compiled at run time and libnvrtc is not here: install the CUDA "
                        "toolkit, or set CUDA_HOME to it");
  }

  void check(int result, const char *doing) const {
    if (result != 0) fail(Code::library, "nvrtc: %s while %s", error(result), doing);
  }
};

// The first lines that say error; NVRTC repeats itself after them.
std::string first_errors(const std::string &log) {
  constexpr size_t kEnough = 600;
  size_t at = log.find("error");
  if (at == std::string::npos) at = 0;
  else if (const size_t line = log.rfind('\n', at); line != std::string::npos) at = line + 1;
  else at = 0;
  std::string text = log.substr(at, kEnough);
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.pop_back();
  return text;
}

// NVRTC's defaults are IEEE division and square root, subnormals kept: nothing here may change that. A product and a sum
// stay two roundings, as in the shipped kernels and on the cpu: contracted, an element's bits would depend on whether the
// vector loop or its tail computed it.
constexpr const char *kOptions[] = {"--std=c++20", "--fmad=false", "--no-source-include"};

bool is_machine(const std::string &architecture) { return architecture.compare(0, 3, "sm_") == 0; }

}  // namespace

bool nvrtc_available() { return Nvrtc::find() != nullptr; }

std::string nvrtc_version() {
  const Nvrtc &n = Nvrtc::get();
  return std::to_string(n.major) + "." + std::to_string(n.minor);
}

std::string nvrtc_architecture(int major, int minor) {
  const Nvrtc &n = Nvrtc::get();
  const int own = 10 * major + minor;
  const auto above = std::upper_bound(n.known.begin(), n.known.end(), own);
  if (above == n.known.begin())
    fail(Code::unsupported, "this GPU (compute capability %d.%d) is older than NVRTC %d.%d compiles for", major, minor,
         n.major, n.minor);
  const int nearest = *(above - 1);
  return (nearest == own ? "sm_" : "compute_") + std::to_string(nearest);
}

std::string nvrtc_compile(const std::string &source, const std::string &architecture) {
  const Nvrtc &n = Nvrtc::get();
  std::vector<const char *> names, texts;
  for (int i = 0; i < n_embedded_headers; ++i)
    names.push_back(embedded_headers[i].name), texts.push_back(embedded_headers[i].text);

  struct Owner {
    const Nvrtc &nvrtc;
    Program program = nullptr;
    ~Owner() {
      if (program) nvrtc.destroy(&program);
    }
  } own{n};
  n.check(n.create(&own.program, source.c_str(), "tcuops", int(names.size()), texts.data(), names.data()),
          "creating a program");
  const std::string target = "--gpu-architecture=" + architecture;
  std::vector<const char *> arguments(std::begin(kOptions), std::end(kOptions));
  arguments.push_back(target.c_str());
  if (n.major > 12 || (n.major == 12 && n.minor >= 4)) arguments.push_back("--minimal");  // it declares less, and is faster
  if (const int result = n.compile(own.program, int(arguments.size()), arguments.data())) {
    size_t bytes = 0;
    std::string log;
    if (n.log_size(own.program, &bytes) == 0) log.resize(bytes), n.log(own.program, log.data());
    fail(Code::internal, "nvrtc: %s: %s", n.error(result), first_errors(log).c_str());
  }
  const bool machine = is_machine(architecture);
  size_t bytes = 0;
  n.check(machine ? n.cubin_size(own.program, &bytes) : n.ptx_size(own.program, &bytes), "asking for the code's size");
  std::string code(bytes, '\0');
  n.check(machine ? n.cubin(own.program, code.data()) : n.ptx(own.program, code.data()), "taking the code");
  return code;
}

// ---- compiler.h

std::string code_key(const Target &target) {
  // The headers' text stands for the library's version: it changes with every change that matters.
  std::string key = std::string("nvrtc headers ") + embedded_headers_hash;
  for (const char *o : kOptions) key += std::string(" ") + o;
  return key + " " + std::to_string(target.major) + "." + std::to_string(target.minor) + "\n";
}

std::string substitute_key(const Target &target) {
  const std::string architecture = nvrtc_architecture(target.major, target.minor);
  return is_machine(architecture) ? "" : nvrtc_version() + " " + architecture + " ";
}

void open_compiler() { Nvrtc::find(); }

std::string compile_source(const std::string &source, const Target &target) {
  return nvrtc_compile(source, nvrtc_architecture(target.major, target.minor));
}

std::string loadable(const std::string &code) { return code; }

}  // namespace tcu::cuda
