#pragma once
/// @file
/// Rows that see no key: out must be 0 and lse minus infinity, and they contribute to no gradient. Their
/// values in code that does not handle them show what is missing.

#include <optional>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// The cause of wrong rows without a key, if nothing else is wrong.
std::optional<Cause> cause_of_blind_rows(const Evidence& evidence, TensorGroup pass);

}  // namespace ringcraft::verify
