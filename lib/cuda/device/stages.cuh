// Stages in shared memory into which a thread copies its own words of every input ahead of their use. It reads no other
// thread's, so that no barrier is needed.
#pragma once
#include "device/map.cuh"

namespace tcu::cuda {

template <class Inputs> struct bytes_of_all;
template <> struct bytes_of_all<Types<>> { static constexpr int value = 0; };
template <class T, class... R> struct bytes_of_all<Types<T, R...>> {
  static constexpr int value = int(sizeof(T)) + bytes_of_all<Types<R...>>::value;
};

#if defined(TCU_KERNELS)

// Threads x Items words of V elements of every input, input after input.
template <class Inputs, int V, int Threads, int Items>
struct Stages {
  static constexpr int kBytes = Threads * Items * V * bytes_of_all<Inputs>::value;  // of one
  char *start;

  TCU_DEVICE explicit Stages(Slot *shared) : start(reinterpret_cast<char *>(shared)) {}
  template <class T>
  TCU_DEVICE static T *mine(char *stage, int item) {
    return reinterpret_cast<T *>(stage) + (item * Threads + int(threadIdx.x)) * V;
  }

  // The V elements of every input that lie `at` after o, contiguous and aligned.
  template <class P, int N, class Index>
  TCU_DEVICE void fetch(const P &p, const Offsets<N, Index> &o, Index at, int stage, int item) const {
    fetch<0>(Inputs{}, p, o, at, start + stage * kBytes, item);
  }
  TCU_DEVICE void read(Pack<V, Inputs> &pack, int stage, int item) const { read_from(pack, start + stage * kBytes, item); }

 private:
  template <int I, class P, int N, class Index>
  TCU_DEVICE static void fetch(Types<>, const P &, const Offsets<N, Index> &, Index, char *, int) {}
  template <int I, class P, int N, class Index, class T, class... R>
  TCU_DEVICE static void fetch(Types<T, R...>, const P &p, const Offsets<N, Index> &o, Index at, char *stage, int item) {
    copy_ahead<V * int(sizeof(T))>(mine<T>(stage, item), static_cast<const T *>(p.in[I]) + (o.in[I] + at));
    fetch<I + 1>(Types<R...>{}, p, o, at, stage + Threads * Items * V * int(sizeof(T)), item);
  }
  TCU_DEVICE static void read_from(Pack<V, Types<>> &, char *, int) {}
  template <class T, class... R>
  TCU_DEVICE static void read_from(Pack<V, Types<T, R...>> &pack, char *stage, int item) {
    pack.first = Raw<T, V>::staged(mine<T>(stage, item));
    read_from(pack.rest, stage + Threads * Items * V * int(sizeof(T)), item);
  }
};

#endif
}  // namespace tcu::cuda
