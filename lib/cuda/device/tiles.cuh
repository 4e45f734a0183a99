// What reduce.tiles cuts its work into, as its kernel and its launcher agree.
#pragma once
#include "device/params.cuh"
#include "device/tile_rows.cuh"

namespace tcu::cuda {

// Threads of a block that add up. Its last warp asks for tiles: what all threads found out would take as long as to add up.
inline constexpr int kAdding = kThreads - 32;
// Tiles that a block has at a time, at most.
inline constexpr int kMostTiles = 6;
// Elements of a step that a thread has, at most.
TCU_FN constexpr int places_in_tile(int state_bytes) { return state_bytes > 8 ? 4 : 8; }
// Steps whose elements of a place are put to its state at once.
TCU_FN constexpr int steps_at_once(int inputs, int bytes) { return inputs == 1 && bytes <= 2 ? 8 : 4; }
// From step to step of so many elements in shared memory, if they lie `apart` in memory; and what that may come to. skewed: they begin anywhere in 16 bytes.
template <class Index>
TCU_FN constexpr int step_pitch(int step, int bytes, Index apart, bool skewed) {
  return pitch_from(skewed ? around(step, bytes) : step, bytes, apart, 128);
}
template <class Index>
TCU_FN constexpr int most_step_pitch(int step, int bytes, Index apart, bool skewed) {
  return !skewed && apart == step ? step : most_pitch_from(skewed ? around(step, bytes) : step, bytes, 128);
}
// Bytes of shared memory for a tile of so many, which lies there as it does in 128 bytes of global memory.
TCU_FN constexpr int tile_room(int bytes) { return (bytes + 127) / 128 * 128 + 128; }

}  // namespace tcu::cuda
