#include "cuda/dynamic_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "core/error.h"

namespace tcu::cuda {

void *open_toolkit_library(const char *name, std::string *where) {
  std::vector<std::string> folders{""};  // the loader's own path first
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = std::getenv(variable); root && *root)
      for (const char *sub : {"/lib64/", "/lib/", "/targets/x86_64-linux/lib/"}) folders.push_back(root + std::string(sub));
  folders.push_back("/usr/local/cuda/lib64/");
  for (const std::string &folder : folders)
    for (const char *version : {".so.13", ".so.12", ".so"}) {
      const std::string path = folder + "lib" + name + version;
      if (void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (where) *where = path;
        return library;
      }
    }
  return nullptr;
}

void *symbol_of(void *library, const char *name) {
  if (void *symbol = ::dlsym(library, name)) return symbol;
  fail(Code::library, "the installed CUDA library has no %s: install CUDA 12 or later", name);
}

}  // namespace tcu::cuda
