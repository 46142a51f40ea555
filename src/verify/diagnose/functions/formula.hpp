#pragma once
/// @file
/// Finds formulas in whole numbers: the sum of multiples of given quantities that gives all answers, and its
/// wording.

#include <optional>
#include <string>
#include <vector>

#include "ringcraft/core/types.hpp"

namespace ringcraft::verify {

/// One answer, and the quantities that it may consist of.
struct FormulaSample {
  std::vector<Index> terms;
  Index answer;
};

/// The multiples of the quantities that add up to the answer in all samples; among quantities that cannot be
/// told apart the first one counts. Empty if there are none, or if the samples are too few to prove them.
std::optional<std::vector<Index>> whole_formula(const std::vector<FormulaSample>& samples);

/// "row * N + N - 1 - r": the multiples in words. A quantity without a name is 1.
std::string formula_text(const std::vector<std::string>& names, const std::vector<Index>& multiples);

/// The low 32 bits of a number, as a cast to int leaves it.
inline Index in_int(Index number) { return static_cast<std::int32_t>(static_cast<std::uint64_t>(number)); }
/// The same without a sign.
inline Index in_unsigned(Index number) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(number));
}

}  // namespace ringcraft::verify
