#pragma once
/// @file
/// From the deviations of all lines to the fewest laws: which deed, at which steps, on which ranks.

#include <optional>
#include <string>
#include <vector>

#include "verify/diagnose/solve/line_system.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// Where a law holds, of all pairs of a shard and a block.
struct Domain {
  /// Which pairs, with t the step at which shard r meets block a.
  enum class Kind : std::uint8_t {
    kAll,
    kOwn,       ///< t = 0
    kReceived,  ///< t > 0
    kLater,     ///< a > r
    kEarlier,   ///< a < r
    kStep,      ///< t = number
    kFromStep,  ///< t >= number
    kUpToStep,  ///< t <= number
    kShard,     ///< r = number
    kBlock,     ///< a = number
    kPairs,     ///< those listed
  };
  Kind kind = Kind::kAll;
  int number = 0;
  std::vector<std::pair<int, int>> pairs = {};  ///< (shard, block)
};

/// One thing that was done wrongly.
struct Told {
  Law law;
  Domain where;
  std::vector<Law> others;  ///< laws that say the same of the same pairs
};

/// What was done wrongly in all of these lines, told with as few laws as possible: with one that explains
/// them all, or by those of each line's own solution. Nothing if these do not explain every line.
std::optional<std::vector<Told>> tell(const Arrangement& place, const std::vector<LineSystem>& lines,
                                      double threshold);

/// The cells that are used too often or not at all, where no law says it; nothing if they cannot be told.
std::optional<Cause> cause_of_cells(const Arrangement& place, const BlockProblem& problem,
                                    const std::vector<LineSystem>& lines, const std::string& where);

/// As a cause; `where` stands in front. `of_dq`: keys, not values, are what is multiplied in the end.
Cause cause_of(const Told& told, const Arrangement& place, const std::string& where, bool of_dq = false);

}  // namespace ringcraft::verify
