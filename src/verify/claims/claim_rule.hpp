#pragma once
/// @file
/// Chooses the rule for a claim: the number type it was computed in, and which values may have been rounded.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "verify/oracle/rounding.hpp"
#include "verify/oracle/tensor_files.hpp"

namespace ringcraft::verify {

/// How the reader of a verdict spells options: flags of a command line, or arguments of Python.
enum class Spelling : std::uint8_t { kFlags, kKeywords };

/// An option by name, with its value if it is to be set: "--dtype bfloat16" or "dtype=\"bfloat16\"".
std::string option_text(Spelling spelling, std::string_view name, std::string_view value = {});

/// dtype and tf32 of verify: facts that the files cannot state.
struct PrecisionOptions {
  std::optional<DType> dtype;  ///< type in which the claim was computed; empty: the type it is stored in
  bool tf32 = false;           ///< matrix products take their float32 operands in TF32
  Spelling spelling = Spelling::kFlags;  ///< of options, in advice
};

/// The rule for one claim.
struct ClaimRule {
  DType type = DType::kFloat64;      ///< type in which the claim is assumed to be computed
  std::optional<Rounding> rounding;  ///< empty: exact
  bool wide_inputs = false;  ///< the inputs have more digits than the type, and may have been rounded first
  bool tf32 = false;         ///< as in PrecisionOptions
};

/// The narrowest type of the claim's tensors, or the type given in the options. Throws Error if that type has
/// more digits than a tensor, or if TF32 is combined with a type other than float32.
ClaimRule rule_for(const StoredInputs& inputs, const Answer& claim, const PrecisionOptions& options);

/// Whether every number of a tensor has no more digits than the type.
bool fits_into(const Buffer& tensor, DType type);

/// "float64: must be exact to 1e-12 of each element's scale"
std::string sentence_of(const ClaimRule& rule);

/// The half type, bfloat16 first, that holds every number of the claim's tensors (lse not counted), if they
/// are stored in a wider type: the claim was then probably computed in that half type.
std::optional<DType> hidden_half_type(const Answer& claim);

}  // namespace ringcraft::verify
