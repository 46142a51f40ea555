#pragma once
/// @file
/// Rows that see no key: out must be 0 and lse minus infinity, and they give nothing to any gradient. What
/// they become where nobody has thought of them says what was forgotten.

#include <optional>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// What becomes of rows without a key, if nothing else is wrong.
std::optional<Cause> cause_of_blind_rows(const Evidence& evidence, TensorGroup pass);

}  // namespace ringcraft::verify
