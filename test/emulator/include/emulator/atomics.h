// Atomics, with exactly CUDA's overloads so that a call which nvcc would refuse is refused here. All fibers share one
// host thread, so plain code is atomic; each atomic is also a place where the thread may lose its turn, before and
// after.
#pragma once

#include "emulator.h"

namespace emu {

template <class T, class F>
T read_modify_write(T *address, F change) {
  preempt();
  T old = *address;
  *address = change(old);
  preempt();
  return old;
}

}  // namespace emu

#define TCU_EMULATOR_ATOMIC(T, name, expression)                                                    \
  inline T name(T *address, T v) {                                                                  \
    return emu::read_modify_write(address, [v](T old) -> T { return static_cast<T>(expression); }); \
  }
// Signed sums wrap.
TCU_EMULATOR_ATOMIC(int, atomicAdd, unsigned(old) + unsigned(v))
TCU_EMULATOR_ATOMIC(unsigned, atomicAdd, old + v)
TCU_EMULATOR_ATOMIC(unsigned long long, atomicAdd, old + v)
TCU_EMULATOR_ATOMIC(float, atomicAdd, old + v)
TCU_EMULATOR_ATOMIC(double, atomicAdd, old + v)
TCU_EMULATOR_ATOMIC(int, atomicSub, unsigned(old) - unsigned(v))
TCU_EMULATOR_ATOMIC(unsigned, atomicSub, old - v)
TCU_EMULATOR_ATOMIC(int, atomicExch, (void(old), v))
TCU_EMULATOR_ATOMIC(unsigned, atomicExch, (void(old), v))
TCU_EMULATOR_ATOMIC(unsigned long long, atomicExch, (void(old), v))
TCU_EMULATOR_ATOMIC(float, atomicExch, (void(old), v))
TCU_EMULATOR_ATOMIC(unsigned, atomicInc, old >= v ? 0 : old + 1)
TCU_EMULATOR_ATOMIC(unsigned, atomicDec, old == 0 || old > v ? v : old - 1)
#define TCU_EMULATOR_ATOMIC_ORDER(T)                    \
  TCU_EMULATOR_ATOMIC(T, atomicMin, v < old ? v : old)  \
  TCU_EMULATOR_ATOMIC(T, atomicMax, old < v ? v : old)
TCU_EMULATOR_ATOMIC_ORDER(int)
TCU_EMULATOR_ATOMIC_ORDER(unsigned)
TCU_EMULATOR_ATOMIC_ORDER(long long)
TCU_EMULATOR_ATOMIC_ORDER(unsigned long long)
#define TCU_EMULATOR_ATOMIC_BITS(T)            \
  TCU_EMULATOR_ATOMIC(T, atomicAnd, (old & v)) \
  TCU_EMULATOR_ATOMIC(T, atomicOr, (old | v))  \
  TCU_EMULATOR_ATOMIC(T, atomicXor, (old ^ v))
TCU_EMULATOR_ATOMIC_BITS(int)
TCU_EMULATOR_ATOMIC_BITS(unsigned)
TCU_EMULATOR_ATOMIC_BITS(unsigned long long)
#undef TCU_EMULATOR_ATOMIC
#undef TCU_EMULATOR_ATOMIC_ORDER
#undef TCU_EMULATOR_ATOMIC_BITS

#define TCU_EMULATOR_CAS(T)                                                                   \
  inline T atomicCAS(T *address, T expected, T v) {                                           \
    return emu::read_modify_write(address, [=](T old) { return old == expected ? v : old; }); \
  }
TCU_EMULATOR_CAS(int)
TCU_EMULATOR_CAS(unsigned)
TCU_EMULATOR_CAS(unsigned long long)
TCU_EMULATOR_CAS(unsigned short)
#undef TCU_EMULATOR_CAS
