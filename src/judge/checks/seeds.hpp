#pragma once
/// @file
/// Seeds of checks.

#include <cstdint>

namespace ringcraft::judge {

/// The seed with which tests/misconceptions is judged, so that its tables are the same everywhere.
inline constexpr std::uint64_t kSeedOfCorpus = 1;

/// The number of seeds, one for each check, that belong to one seed of a verdict.
inline constexpr std::uint64_t kSeedsOfChecks = 1000;

}  // namespace ringcraft::judge
