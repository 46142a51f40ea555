#pragma once
/// @file
/// A model of rounding in attention: which numbers an implementation rounds, and with which variance. The
/// oracle derives a standard deviation for every element from it (oracle.hpp), and the rule for claims its
/// bounds (rounding_rule.hpp). Errors of single roundings are taken as independent, as in Higham and Mary, "A
/// new approach to probabilistic rounding error analysis" (2019): sums of them grow with a root, bounds do
/// not.

#include "ringcraft/core/types.hpp"

namespace ringcraft::verify {

/// The places where an implementation rounds. Each figure is the variance of one rounding relative to the
/// square of the rounded number; 0: no rounding there, besides that of float32 everywhere.
struct Rounding {
  double operands = 0;      ///< q, k, v, dout before a product
  double factors = 0;       ///< dout before its product with v, where it has been multiplied by 1 / l
  double products = 0;      ///< P and dS before a product
  double inner = 0;         ///< all else that is stored between two steps: scores, P and dP in dS, delta
  double sums = 0;          ///< dq, dk, dv while they accumulate, once for every kBlock rows or keys
  double partials = 0;      ///< out, dq, dk, dv of a part of the keys or rows, before parts are combined
  double results = 0;       ///< out, dq, dk, dv, each once, and out before delta is formed from it
  double lse = 0;           ///< lse
  double exponentials = 0;  ///< each exp, alike in a whole row: only lse shows it
  double underflow =
      0;            ///< variance of an error near zero, absolute: spacing of the subnormal numbers^2 / 12
  double unit = 0;  ///< unit roundoff, the largest relative error: of the type with the large errors
  double alike =
      5;  ///< standard errors that the mean of many errors may be off by; more where they are alike

  /// Tokens in a block for `sums`: the block size of flash attention on CPUs.
  static constexpr double kBlock = 256;
};

/// The unit roundoff of a type: 2^-8 (bfloat16), 2^-11 (float16), 2^-24, 2^-53.
double unit_roundoff(DType type);

/// The number of this type that is nearest to x.
double rounded(double x, DType type);

/// Code in a number type as usually written: a half type may round at every step, float32 computes in
/// float32. `wide_inputs` says that the inputs have more digits than the type, so that the code may have
/// rounded them first. `lse` is the type that lse is stored in. Throws Error for float64.
Rounding rounding_of(DType type, bool wide_inputs = false, DType lse = DType::kFloat32);

/// float32 whose products take operands in TF32 (8 bits of exponent, 10 of mantissa), truncated or rounded.
Rounding tf32_rounding();

/// A kernel that rounds P and dS to `type` where they enter a product, keeps everything else in float32, and
/// writes its results in `results`. For float32 that is rounding_of(float32).
Rounding tensor_core_rounding(DType type, DType results = DType::kFloat32);

}  // namespace ringcraft::verify
