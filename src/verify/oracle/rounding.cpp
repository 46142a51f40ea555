// Defines the roundings of known number types: float32, TF32, the half types on CPUs, and tensor cores. Each
// figure is derived or measured next to its definition.
#include "verify/oracle/rounding.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft::verify {
namespace {

// Relative variance of rounding to nearest, for numbers whose logarithm is uniformly distributed: the error
// is uniform over a spacing of 2u to u of the number, which gives 0.18 u^2; a little more for other
// distributions.
constexpr double kNearest = 0.2;
// For truncation instead: the error has up to twice the size, and one sign, so that it does not average out;
// four times the deviation is measured to cover that.
constexpr double kCutOff = 64 * kNearest;

// Kernels for half types approximate exp: PyTorch's on CPUs has 15 digits of a binary number (measured: RMS
// of the error of lse up to 1.25 times this, mostly of one sign; 2.2 times at most).
constexpr double kApproximateExp = 0x1p-30;

double variance_of(DType type) { return kNearest * unit_roundoff(type) * unit_roundoff(type); }

// Half the spacing of subnormal numbers matters in float16; in the other types it is negligible.
double underflow_of(DType type) { return type == DType::kFloat16 ? 0x1p-48 / 12 : 0; }

Rounding float32_rounding(bool wide_inputs) {
  const double r = variance_of(DType::kFloat32);
  // The error of a score dominates the rounding in float32, and is common to all columns of a row.
  return {.operands = wide_inputs ? r : 0,
          .products = r,
          .inner = r,
          .results = r,
          .unit = unit_roundoff(DType::kFloat32),
          .alike = 10};
}

}  // namespace

double unit_roundoff(DType type) {
  switch (type) {
    case DType::kFloat64:
      return 0x1p-53;
    case DType::kFloat32:
      return 0x1p-24;
    case DType::kBFloat16:
      return 0x1p-8;
    case DType::kFloat16:
      return 0x1p-11;
  }
  return 0;
}

double rounded(double x, DType type) {
  switch (type) {
    case DType::kBFloat16:
      return float_from_bfloat16(bfloat16_from(x));
    case DType::kFloat16:
      return float_from_float16(float16_from(x));
    case DType::kFloat32:
      return static_cast<float>(x);
    case DType::kFloat64:
      break;
  }
  return x;
}

Rounding rounding_of(DType type, bool wide_inputs, DType lse) {
  if (type == DType::kFloat64)
    throw Error("rounding", "float32, bfloat16 or float16", "float64", "use compare_exact for float64");
  if (type == DType::kFloat32) return float32_rounding(wide_inputs);
  const double r = variance_of(type);
  return {.operands = wide_inputs ? r : 0,
          .factors = r,
          .products = r,
          .inner = r,
          .sums = r,
          .partials = r,
          .results = r,
          .lse = is_half(lse) ? variance_of(lse) : 0,
          .exponentials = kApproximateExp,
          .underflow = underflow_of(type),
          .unit = unit_roundoff(type)};
}

Rounding tf32_rounding() {
  constexpr double kUnit = 0x1p-11;
  Rounding rounding = float32_rounding(false);
  rounding.operands = rounding.products = rounding.lse =
      kCutOff * kUnit * kUnit;  // scores err in one direction
  rounding.alike = 100;
  rounding.unit = 16 * kUnit;  // operands of consecutive products, each truncated by up to two
  return rounding;
}

Rounding tensor_core_rounding(DType type, DType results) {
  Rounding rounding = float32_rounding(false);
  const DType narrow = is_half(type) ? type : results;
  if (!is_half(narrow)) return rounding;
  if (is_half(type)) rounding.products = variance_of(type);
  rounding.results = variance_of(results);
  rounding.underflow = underflow_of(narrow);
  rounding.unit = unit_roundoff(narrow);
  rounding.alike = Rounding{}.alike;
  return rounding;
}

}  // namespace ringcraft::verify
