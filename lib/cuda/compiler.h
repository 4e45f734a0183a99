// What turns generated source into code for a device. Two definitions, of which a build links one: NVRTC (nvrtc.cpp),
// and the host's compiler for the emulator (test/emulator/library/host_compiler.cpp).
#pragma once
#include <string>

namespace tcu::cuda {

struct Target {
  int major = 0, minor = 0;  // compute capability
};

// Everything beside the source that the code depends on: compiler, version, options, architecture, our headers' text.
// Fails with Code::library where there is no compiler.
std::string compiler_key(const Target &target);
// The code of `source`. Fails with Code::library without a compiler and with Code::internal, and its words, if the source
// does not compile.
std::string compile_source(const std::string &source, const Target &target);
// What cudaLibraryLoadData takes for that code: itself; under the emulator the path of a file with it.
std::string loadable(const std::string &code);

}  // namespace tcu::cuda
