// The device headers as text, made by cmake/embed.cmake; names are as kernels #include them.
#pragma once

namespace tcu::cuda {

struct EmbeddedHeader {
  const char *name;
  const char *text;
};
extern const EmbeddedHeader embedded_headers[];
extern const int n_embedded_headers;

}  // namespace tcu::cuda
