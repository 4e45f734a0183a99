// Host twins of mma.sync: all 32 lanes bring their registers, the last one to come gathers the tiles by the fragment
// layouts of the PTX manual ("Matrix fragments for mma.m16n8k16" and its neighbours), multiplies, and scatters d.
// d may be c. A is row-major, B column-major ('.row.col'), as all these shapes require.
//
// Numbers: products of 16-bit and tf32 elements are exact, their sum is taken in double and rounded once to float. A
// tensor core truncates within the sum, so compare with a tolerance or with exactly representable data. tf32 operands
// lose their low 13 bits, as on the device. Inf and NaN follow IEEE: 0*Inf poisons the row and column it meets.
#pragma once

#include "emulator.h"

namespace emu {

enum class mma_kind { f16, bf16 };
enum class mma_int { s8, u8 };

#define TCU_EMULATOR_SITE_ const char *file = __builtin_FILE(), int line = __builtin_LINE()

void mma_m16n8k16(float d[4], const std::uint32_t a[4], const std::uint32_t b[2], const float c[4], mma_kind kind,
                  TCU_EMULATOR_SITE_);
void mma_m16n8k8(float d[4], const std::uint32_t a[2], const std::uint32_t b[1], const float c[4], mma_kind kind,
                 TCU_EMULATOR_SITE_);
void mma_m16n8k8_tf32(float d[4], const std::uint32_t a[4], const std::uint32_t b[2], const float c[4],
                      TCU_EMULATOR_SITE_);
void mma_m16n8k4_tf32(float d[4], const std::uint32_t a[2], const std::uint32_t b[1], const float c[4],
                      TCU_EMULATOR_SITE_);
void mma_m8n8k4_f64(double d[2], const double a[1], const double b[1], const double c[2], TCU_EMULATOR_SITE_);
void mma_m16n8k32(std::int32_t d[4], const std::uint32_t a[4], const std::uint32_t b[2], const std::int32_t c[4],
                  mma_int kind, TCU_EMULATOR_SITE_);

#undef TCU_EMULATOR_SITE_

// Conversions for tests and host twins.
float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float x);  // round to nearest even
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float x);

}  // namespace emu
