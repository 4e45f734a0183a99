#include "graph.h"

#include <dlfcn.h>

#include <exception>
#include <type_traits>

namespace bench {
namespace {

// cuda.h's functions, with its handles as void * and CUresult as int.
struct Driver {
  int (*begin)(void *stream, int mode);
  int (*end)(void *stream, void **graph);
  int (*instantiate)(void **ready, void *graph, unsigned long long flags);
  int (*launch)(void *ready, void *stream);
  int (*destroy)(void *graph);
  int (*destroy_ready)(void *ready);
  bool complete = false;

  Driver() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return;
    complete = true;
    const auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      complete = complete && function;
    };
    find(begin, "cuStreamBeginCapture_v2");
    find(end, "cuStreamEndCapture");
    find(instantiate, "cuGraphInstantiateWithFlags");
    find(launch, "cuGraphLaunch");
    find(destroy, "cuGraphDestroy");
    find(destroy_ready, "cuGraphExecDestroy");
  }
};

const Driver &driver() {
  static const Driver d;
  return d;
}

}  // namespace

Graph::Graph(void *stream, const std::function<void()> &queue) {
  constexpr int thread_local_mode = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
  if (!driver().complete || driver().begin(stream, thread_local_mode) != 0) return;
  bool queued = true;
  try {
    queue();
  } catch (const std::exception &) {
    queued = false;
  }
  if (driver().end(stream, &graph_) != 0 || !queued) return;
  if (driver().instantiate(&ready_, graph_, 0) != 0) ready_ = nullptr;
}

Graph::~Graph() {
  if (ready_) driver().destroy_ready(ready_);
  if (graph_) driver().destroy(graph_);
}

void Graph::launch(void *stream) const { driver().launch(ready_, stream); }

}  // namespace bench
