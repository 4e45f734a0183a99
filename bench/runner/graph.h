// A CUDA graph of what a function queues on a stream, by the driver, which is opened at run time.
#pragma once
#include <functional>

namespace bench {

class Graph {
 public:
  Graph(void *stream, const std::function<void()> &queue);
  ~Graph();
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  bool ready() const { return ready_ != nullptr; }  // false where there is no driver, or something cannot be recorded
  void launch(void *stream) const;

 private:
  void *graph_ = nullptr, *ready_ = nullptr;
};

}  // namespace bench
