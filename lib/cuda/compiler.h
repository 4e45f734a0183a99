// What turns generated source into code for a device. Two definitions, of which a build links one: NVRTC (nvrtc.cpp),
// and the host's compiler for the emulator (test/emulator/library/host_compiler.cpp).
#pragma once
#include <string>

namespace tcu::cuda {

struct Target {
  int major = 0, minor = 0;  // compute capability
};

// What code for the target depends on beside the source and the compiler's version: our headers' text, options, architecture. It opens
// no compiler, which takes 6 to 8 ms: where the disk cache has the code, none is needed, nor has to be installed.
// Machine code stands under this key alone, whichever version made it: every driver that knows the architecture runs it, one that
// refuses it has it made again (jit.cpp), and source, options and headers say what it computes. So what may go stale is the
// quality of the code: a compiler that is updated is first asked for what is not in the cache.
std::string code_key(const Target &target);
// Empty where the compiler makes machine code for the target. Else the code is a substitute, for an older architecture, that a newer
// compiler would better: what is to be added to the key of that, its architecture and the compiler's version.
// Fails with Code::library where there is no compiler.
std::string substitute_key(const Target &target);
// Opens it, if it is there.
void open_compiler();
// The code of `source`. Fails with Code::library without a compiler and with Code::internal, and its words, if the source
// does not compile.
std::string compile_source(const std::string &source, const Target &target);
// What cudaLibraryLoadData takes for that code: itself; under the emulator the path of a file with it.
std::string loadable(const std::string &code);

}  // namespace tcu::cuda
