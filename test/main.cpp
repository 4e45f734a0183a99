// main of every test executable. Exit status: 0 passed, 77 skipped, anything else failed.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif
#include <cstdio>
#include <cstdlib>

// Why none of this executable's tests can run here; null if they can. Executables that always run do not define it.
__attribute__((weak)) const char *skip_reason();

// Catch2 2 has an option for bare names; Catch2 3 lists them when it is quiet.
template <class Config>
auto list_only(Config &config, int) -> decltype(void(config.listTestNamesOnly)) {
  config.listTestNamesOnly = true;
}
template <class Config>
void list_only(Config &config, long) {
  config.listTests = true;
  config.verbosity = Catch::Verbosity::Quiet;
}

int main(int argc, char **argv) {
  ::setenv("TCUOPS_STAND_IN", "off", 0);  // what is tested is what the planner chooses; tests of stand-ins say otherwise
  Catch::Session session;
  if (const int status = session.applyCommandLine(argc, argv)) return status;
  if (skip_reason)
    if (const char *reason = skip_reason()) {
      std::printf("skipped: %s\n", reason);
      list_only(session.configData(), 0);
      session.run();
      return 77;
    }
  return session.run() == 0 ? 0 : 1;
}
