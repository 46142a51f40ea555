#pragma once
/// @file
/// Seeds of checks.

#include <cstdint>

namespace ringcraft::judge {

/// The one that the known mistakes were judged with (misconceptions.csv).
inline constexpr std::uint64_t kSeedOfTables = 1;

/// So many, each a check's own, belong to one of a verdict.
inline constexpr std::uint64_t kSeedsOfChecks = 1000;

}  // namespace ringcraft::judge
