#pragma once
/// @file
/// Seeds of checks.

#include <cstdint>

namespace ringcraft::judge {

/// The one that tests/misconceptions is judged with, so that its tables are the same everywhere.
inline constexpr std::uint64_t kSeedOfCorpus = 1;

/// So many, each a check's own, belong to one of a verdict.
inline constexpr std::uint64_t kSeedsOfChecks = 1000;

}  // namespace ringcraft::judge
