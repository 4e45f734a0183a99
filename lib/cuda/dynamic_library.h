// Shared libraries of the toolkit that are opened when first needed, so that the library loads without them.
#pragma once
#include <string>

namespace tcu::cuda {

// Opens lib<name>.so.<version> for the given major versions, newest first, then lib<name>.so: from the loader's path, from
// $CUDA_HOME and $CUDA_PATH, and from /usr/local/cuda. Null if it is nowhere; `where` gets the path it was found by.
void *open_toolkit_library(const char *name, std::string *where = nullptr);
// Fails with Code::library if the library does not have it.
void *symbol_of(void *library, const char *name);

template <class F>
void bind(void *library, const char *name, F *&function) {
  function = reinterpret_cast<F *>(symbol_of(library, name));
}

}  // namespace tcu::cuda
