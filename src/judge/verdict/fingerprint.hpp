#pragma once
/// @file
/// Fingerprint: what a verdict looks like, check by check. The same mistake in two people's words leaves the
/// same signs, the same pictures and, for the same seed, the same numbers; that is what a diagnosis compares.

#include <string>
#include <string_view>
#include <vector>

#include "judge/verdict/judge.hpp"

namespace ringcraft::judge {

/// How one check ended.
struct Trait {
  std::string check;     ///< "causal", without the lesson's number
  char sign;             ///< one of namespace sign
  std::string evidence;  ///< see Outcome
  std::string
      digest;  ///< of what has failed, and with which facts, four hexadecimal digits; empty if nothing

  friend bool operator==(const Trait&, const Trait&) = default;
};

/// One trait for each check of the lesson, in the order of its table.
using Fingerprint = std::vector<Trait>;

/// The fingerprint of a verdict. What compiles and belongs is no trait.
Fingerprint fingerprint_of(const Verdict& verdict);

/// Four hexadecimal digits for Outcome::key.
std::string digest_of(std::string_view key);

/// "one-rank=. causal=x(out:.xx.)#1f0c layouts=-": the traits, separated by spaces.
std::string text_of(const Fingerprint& fingerprint);

/// The inverse of text_of. Throws Error for anything else.
Fingerprint fingerprint_from(std::string_view text);

}  // namespace ringcraft::judge
