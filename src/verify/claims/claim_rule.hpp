#pragma once
/// @file
/// By which rule a claim is judged: which number type it was computed in, and what may have been rounded.

#include <optional>
#include <string>

#include "verify/oracle/rounding.hpp"
#include "verify/oracle/tensor_files.hpp"

namespace ringcraft::verify {

/// --dtype and --tf32 of verify: what the files cannot say.
struct PrecisionOptions {
  std::optional<DType> dtype;  ///< that the claim was computed in; nothing: that it is written in
  bool tf32 = false;           ///< its products take float32 operands in TF32
};

/// The rule for one claim.
struct ClaimRule {
  DType type = DType::kFloat64;      ///< that the claim is taken to be computed in
  std::optional<Rounding> rounding;  ///< nothing: exact
  bool wide_inputs = false;  ///< the inputs have more digits than the type, and may have been rounded first
  bool tf32 = false;         ///< as in PrecisionOptions
};

/// The narrowest type of the claim's tensors, or the type that is said. Throws Error if more digits are said
/// than a tensor has, or TF32 beside another type than float32.
ClaimRule rule_for(const StoredInputs& inputs, const Answer& claim, const PrecisionOptions& options);

/// "float64: exact to 1e-12 of each element's scale"
std::string sentence_of(const ClaimRule& rule);

/// The half type, bfloat16 first, that every number of the claim's tensors, lse apart, has digits for, if
/// they are written in a wider one: then the claim was probably computed in it.
std::optional<DType> hidden_half_type(const Answer& claim);

}  // namespace ringcraft::verify
