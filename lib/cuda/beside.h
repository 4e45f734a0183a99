// Work that nobody waits for, one piece after another in a thread that begins with the first.
#pragma once
#include <functional>

namespace tcu::cuda {

// Any thread may call it. The first piece is to open what libraries the others use. What a piece throws is dropped. When the process exits, or
// unloads the library, the piece that is under way is waited for, and the rest dropped. False: there is no thread to be had.
bool do_beside(std::function<void()> work);

}  // namespace tcu::cuda
