// The device headers as text, made by cmake/embed.cmake; names are as kernels #include them.
#pragma once

namespace tcu::cuda {

struct EmbeddedHeader {
  const char *name;
  const char *text;
};
extern const EmbeddedHeader embedded_headers[];
extern const int n_embedded_headers;
extern const char embedded_headers_hash[];  // of all names and texts; made with them, for to hash 350 kB takes half a millisecond

}  // namespace tcu::cuda
