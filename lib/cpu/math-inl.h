// exp, log and their relatives for float32, computed in float64 and rounded once: within 0.51 ulp, and without a table or a
// branch, so that loops over them vectorize. (tanh alone is computed in float32, within 1.35 ulp: it is what networks
// call most, and more than twice as fast so.) Included once per SIMD target, inside HWY_NAMESPACE.
// Non-finite and out-of-range arguments go through the same arithmetic: clamps keep NaN, and rounding to float32 makes the
// infinities, zeros and subnormals. Polynomials are the Taylor series, whose next terms are below 2^-35 of the value.

// One rounding where the target has it in hardware; elsewhere fma() would be a call. float32 results hardly ever differ.
TCU_FN double mad(double a, double b, double c) {
#if HWY_NATIVE_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}
TCU_FN double clamped(double x, double bound) { return x < -bound ? -bound : (x > bound ? bound : x); }

inline constexpr double kLn2 = 0.693147180559945309417, kLog2e = 1.44269504088896340736, kInf = __builtin_inf();
inline constexpr double kShift = 0x1.8p52;  // adding it rounds to an integer, which then stands in the low bits

// expm1(r) for |r| <= ln2 / 2.
TCU_FN double expm1_small(double r) {
  double p = mad(r, 1.0 / 40320, 1.0 / 5040);
  p = mad(r, p, 1.0 / 720);
  p = mad(r, p, 1.0 / 120);
  p = mad(r, p, 1.0 / 24);
  p = mad(r, p, 1.0 / 6);
  p = mad(r, p, 0.5);
  return mad(r * r, p, r);
}
struct Split {
  double scale, rest;  // e^x = scale * (1 + rest)
};
// x in [-700, 700] or NaN.
TCU_FN Split split_exp(double x) {
  const double t = mad(x, kLog2e, kShift), k = t - kShift;
  const double r = mad(k, -1.42860682030941723212e-6, mad(k, -0.693145751953125, x));  // ln2 in two parts, the first short
  return {from_bits((to_bits(t) << 52) + (uint64_t(1023) << 52)), expm1_small(r)};
}
TCU_FN double exp_in(double x) {  // |x| <= 700
  const Split s = split_exp(x);
  return mad(s.scale, s.rest, s.scale);
}
TCU_FN double expm1_in(double x) {
  const Split s = split_exp(x);
  return mad(s.scale, s.rest, s.scale - 1);
}
TCU_FN double exp2_in(double x) {  // |x| <= 1000
  const double t = x + kShift, k = t - kShift, scale = from_bits((to_bits(t) << 52) + (uint64_t(1023) << 52));
  return mad(scale, expm1_small((x - k) * kLn2), scale);
}

struct Log {
  double exponent, mantissa;  // ln x = exponent * ln2 + mantissa
};
// x positive, finite and normal in float64. x = 2^e m with m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh((m - 1) / (m + 1)).
TCU_FN Log split_log(double x) {
  constexpr uint64_t half = 0x3fe6a09e667f3bcdu;  // sqrt(1/2)
  const uint64_t e = (to_bits(x) - half + (uint64_t(1023) << 52)) >> 52;
  const double exponent = from_bits(uint64_t(0x4330000000000000u) | e) - (0x1p52 + 1023);
  const double m = from_bits(to_bits(x) - (e << 52) + (uint64_t(1023) << 52));
  const double s = (m - 1) / (m + 1), z = s * s;
  double p = mad(z, 2.0 / 15, 2.0 / 13);
  p = mad(z, p, 2.0 / 11);
  p = mad(z, p, 2.0 / 9);
  p = mad(z, p, 2.0 / 7);
  p = mad(z, p, 2.0 / 5);
  p = mad(z, p, 2.0 / 3);
  return {exponent, mad(s * z, p, 2 * s)};
}
TCU_FN double log_in(double x) {
  const Log l = split_log(x);
  return mad(l.exponent, kLn2, l.mantissa);
}
// The logarithm's value y where it has one; what libm gives elsewhere.
TCU_FN double log_edges(double x, double y) {
  y = x > 0 ? y : (x == 0 ? -kInf : __builtin_nan(""));
  return x == kInf ? x : y;
}
// x > -1 and finite: the rounding error of 1 + x is made good.
TCU_FN double log1p_in(double x) {
  const double u = 1 + x;
  return log_in(u) + (x - (u - 1)) / u;
}
TCU_FN double sigmoid_in(double x) { return 1 / (1 + exp_in(clamped(-x, 700))); }
TCU_FN double softplus_in(double x) {
  const double a = __builtin_fabs(x);
  return (x > 0 ? x : 0) + log1p_in(exp_in(a > 700 ? -700 : -a));
}
TCU_FN float bounded(float x) { return x < limits<float>::lowest() ? limits<float>::lowest() : x; }

#define TCU_MATH1(name, ...)                              \
  struct name {                                           \
    static TCU_FN float apply(float f) {                  \
      const double x = f;                                 \
      return float(__VA_ARGS__);                          \
    }                                                     \
  };
TCU_MATH1(Exp, exp_in(clamped(x, 700)))
TCU_MATH1(Exp2, exp2_in(clamped(x, 1000)))
TCU_MATH1(Exp10, exp2_in(clamped(x * 3.32192809488736234787, 1000)))
TCU_MATH1(Expm1, x == 0 ? x : expm1_in(clamped(x, 700)))
TCU_MATH1(Logn, log_edges(x, log_in(x)))
TCU_MATH1(Log2, (log_edges(x, mad(split_log(x).mantissa, kLog2e, split_log(x).exponent))))
TCU_MATH1(Log10, (log_edges(x, mad(split_log(x).exponent, 0.301029995663981195214, split_log(x).mantissa * 0.434294481903251827651))))
TCU_MATH1(Log1p, x == 0 ? x : log_edges(1 + x, log1p_in(x)))
TCU_MATH1(Sigmoid, sigmoid_in(x))
TCU_MATH1(Softplus, softplus_in(x))
TCU_MATH1(Logsigmoid, -softplus_in(-x))
// Below 5/8 an odd polynomial; above it 1 - 2 / (e^2a + 1), which is 1 from 9.02 on. Both polynomials are minimax fits, off
// by less than 0.1 units of 2^-24. Over all arguments within 1.35 ulp of the exact value, and 2 in 100000 beyond 1 ulp.
struct Tanh {
  static TCU_FN float mad(float a, float b, float c) {
#if HWY_NATIVE_FMA
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
  }
  static TCU_FN float apply(float x) {
    const float size = __builtin_fabsf(x), a = size > 10 ? 10 : size, z = x * x;
    float p = mad(z, -0x1.75e1cp-8f, 0x1.522698p-6f);
    p = mad(z, p, -0x1.b83c5ap-5f);
    p = mad(z, p, 0x1.110726p-3f);
    p = mad(z, p, -0x1.555532p-2f);
    const float near = x * mad(z, p, 1.0f);  // keeps the sign of zero

    // a = k ln2 / 2 + r. Adding the shift rounds to an integer; 127 more, and the low bits are 2^k's exponent.
    constexpr float shift = 0x1.8p23f + 127;
    const float t = mad(a, 2.88539008f, shift), k = t - shift;
    const float r = mad(k, -7.14303410e-7f, mad(k, -0.3465728759765625f, a)), rr = r * r;
    // e^2r in pairs of terms: half as long a chain, which is what limits the loop.
    const float high = mad(rr, 0x1.6ae68ep-4f, mad(r, 0x1.12683p-2f, 0x1.555826p-1f));
    const float q = mad(rr, mad(rr, high, mad(r, 0x1.555418p+0f, 0x1.fffffcp+0f)), mad(r, 2.0f, 1.0f));
    const float far = 1 - 2 / mad(from_bits(to_bits(t) << 23), q, 1.0f);
    return a < 0.625f ? near : from_bits(to_bits(far) | (to_bits(x) & 0x80000000u));
  }
};
struct Sinh {
  static TCU_FN float apply(float f) {
    const double x = f, a = __builtin_fabs(x), q = expm1_in(a > 700 ? 700 : a);
    return float(__builtin_copysign(0.5 * (q + q / (q + 1)), x));
  }
};
struct Cosh {
  static TCU_FN float apply(float f) {
    const double a = __builtin_fabs(double(f)), e = exp_in(a > 700 ? 700 : a);
    return float(0.5 * (e + 1 / e));
  }
};
struct Silu {
  static TCU_FN float apply(float f) {
    const double x = bounded(f);
    return float(x * sigmoid_in(x));
  }
};
struct GeluTanh {
  static TCU_FN float apply(float f) {
    const double x = bounded(f);
    return float(x * sigmoid_in(x * (1.5957691216057307117 + 0.071354816272600248 * x * x)));
  }
};
struct Mish {  // tanh(log(1 + e)) = n / (n + 2), n = e (e + 2)
  static TCU_FN float apply(float f) {
    const double x = bounded(f), e = exp_in(x < -700 ? -700 : (x > 20 ? 20 : x)), n = e * (e + 2);
    return float(x < 20 ? x * (n / (n + 2)) : x);
  }
};
TCU_MATH1(Elu, x > 0 ? x : (x == 0 ? x : expm1_in(clamped(x, 700))))
TCU_MATH1(Selu, 1.0507009873554804934 * (x > 0 ? x : (x == 0 ? x : 1.6732632423543772848 * expm1_in(clamped(x, 700)))))

// x = k pi/2 + r, |r| <= pi/4, for |x| <= 2^20; the caller does the rest. Which of sin and cos by k, and the sign.
TCU_FN double sin_cos(double x, uint64_t quadrant) {
  const double t = mad(x, 0.636619772367581343076, kShift), k = t - kShift;
  // pi/2 in three parts; k times the first two is exact.
  double r = x - k * 0x1.921fb544p+0;
  r = r - k * 0x1.0b4611a6p-34;
  r = r - k * 0x1.3198a2e037073p-69;
  const double z = r * r;
  double s = mad(z, -1.0 / 39916800, 1.0 / 362880);
  s = mad(z, s, -1.0 / 5040);
  s = mad(z, s, 1.0 / 120);
  s = mad(z, s, -1.0 / 6);
  s = mad(r * z, s, r);
  double c = mad(z, 1.0 / 479001600, -1.0 / 3628800);
  c = mad(z, c, 1.0 / 40320);
  c = mad(z, c, -1.0 / 720);
  c = mad(z, c, 1.0 / 24);
  c = mad(z, c, -0.5);
  c = mad(z, c, 1.0);
  const uint64_t q = to_bits(t) + quadrant;
  const double v = (q & 1) ? c : s;
  return from_bits(to_bits(v) ^ ((q & 2) << 62));
}

// erfc for z >= 0: t exp(-z^2 + P(2 t - 1)), t = 2 / (2 + z); P is the Chebyshev fit of degree 16 of the rest of the
// exponent over all of (0, inf), within 1e-11 (the form is that of Press et al., Numerical Recipes, 6.2.2).
TCU_FN double erfc_positive(double z) {
  const double t = 2 / (2 + z), u = 2 * t - 1;
  double p = 3.1610621931123179e-06;
  p = mad(p, u, -3.7251496976144206e-06);
  p = mad(p, u, -2.076550429422895e-05);
  p = mad(p, u, 3.4692381582825957e-05);
  p = mad(p, u, 6.2342802122460447e-05);
  p = mad(p, u, -0.00017558775549837946);
  p = mad(p, u, -8.8583156785138639e-05);
  p = mad(p, u, 0.00067396034744929766);
  p = mad(p, u, -0.00014798465821744923);
  p = mad(p, u, -0.0023458258370287295);
  p = mad(p, u, 0.0017592649169053606);
  p = mad(p, u, 0.0088249332812313508);
  p = mad(p, u, -0.0098727211532489839);
  p = mad(p, u, -0.046895609485381212);
  p = mad(p, u, 0.047343308019465825);
  p = mad(p, u, 0.67264322395648202);
  p = mad(p, u, -0.67179408406388907);
  const double e = p - z * z;
  return t * exp_in(e < -700 ? -700 : e);
}
TCU_FN double erfc_in(double x) {
  const double y = erfc_positive(__builtin_fabs(x));
  return x < 0 ? 2 - y : y;
}
struct Erfc {
  static TCU_FN float apply(float f) { return float(erfc_in(f)); }
};
struct Erf {
  static TCU_FN float apply(float f) {
    const double x = f, a = __builtin_fabs(x), z = a < 0.5 ? x * x : 0.25;
    double s = mad(z, -1.0 / 75600, 1.0 / 9360);  // near 0 the series: 1 - erfc cancels
    s = mad(z, s, -1.0 / 1320);
    s = mad(z, s, 1.0 / 216);
    s = mad(z, s, -1.0 / 42);
    s = mad(z, s, 1.0 / 10);
    s = mad(z, s, -1.0 / 3);
    s = mad(z, s, 1.0);
    const double y = a < 0.5 ? 1.12837916709551257390 * a * s : 1 - erfc_positive(a);
    return float(__builtin_copysign(y, x));
  }
};
struct Gelu {
  static TCU_FN float apply(float f) {
    const double x = bounded(f);
    return float(0.5 * x * erfc_in(-0.70710678118654752440 * x));
  }
};
TCU_FN double bounded_both(double x, double b) { return x < -b ? -b : (x > b ? b : x); }
struct GeluGrad {
  static TCU_FN float apply(float dy, float f) {
    const double x = bounded_both(f, 100), phi = 0.39894228040143267794 * exp_in(-0.5 * x * x < -700 ? -700 : -0.5 * x * x);
    return float(dy * (0.5 * erfc_in(-0.70710678118654752440 * x) + x * phi));
  }
};
struct SiluGrad {
  static TCU_FN float apply(float dy, float f) {
    const double x = bounded_both(f, double(limits<float>::max()));
    return float(dy * (sigmoid_in(x) * (1 + x * sigmoid_in(-x))));
  }
};
struct SoftplusGrad {
  static TCU_FN float apply(float dy, float x) { return float(dy * sigmoid_in(x)); }
};
