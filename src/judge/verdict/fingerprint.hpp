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
  std::string check;  ///< "causal", without the lesson's number
  char sign;          ///< one of namespace sign
  /// Which tensors are wrong on which ranks, "out:.xx."; of a finding who does what and where, "6w9r@24".
  /// May be empty.
  std::string evidence;
  std::string digest;  ///< of what the check said, four hexadecimal digits; empty if it said nothing

  friend bool operator==(const Trait&, const Trait&) = default;
};

/// One trait for each check of the lesson, in the order of its table.
using Fingerprint = std::vector<Trait>;

/// The fingerprint of a verdict. What compiles and belongs is no trait.
Fingerprint fingerprint_of(const Verdict& verdict);

/// Four hexadecimal digits for the first line of a sentence with this sign. Real numbers count with three
/// digits, and shares of a tolerance and measured times do not count at all: they depend on the order in
/// which numbers are added. Of a finding the kind counts, the memory that it is about and what is done there,
/// not by whom. Where ranks race to be the first that fails, as in a deadlock, only the words count.
std::string digest_of(char how, std::string_view sentence);

/// "one-rank=. causal=x(out:.xx.)#1f0c layouts=-": the traits, separated by spaces.
std::string text_of(const Fingerprint& fingerprint);

/// The inverse of text_of. Throws Error for anything else.
Fingerprint fingerprint_from(std::string_view text);

}  // namespace ringcraft::judge
