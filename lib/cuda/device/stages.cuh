// Bytes that an element's inputs take.
#pragma once
#include "device/map.cuh"

namespace tcu::cuda {

template <class Inputs> struct bytes_of_all;
template <> struct bytes_of_all<Types<>> { static constexpr int value = 0; };
template <class T, class... R> struct bytes_of_all<Types<T, R...>> {
  static constexpr int value = int(sizeof(T)) + bytes_of_all<Types<R...>>::value;
};

}  // namespace tcu::cuda
