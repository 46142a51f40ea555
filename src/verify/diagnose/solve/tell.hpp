#pragma once
/// @file
/// Reduces the deviations of all lines to the fewest laws: which deed, at which steps, on which ranks.

#include <optional>
#include <string>
#include <vector>

#include "verify/diagnose/solve/line_system.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// The pairs of a shard and a block for which a law holds.
struct Domain {
  /// The kind of selection, with t the step at which shard r meets block a.
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

/// One mistake.
struct Told {
  Law law;
  Domain where;
  std::vector<Law> others;  ///< equivalent laws for the same pairs
};

/// Describes the mistakes of all these lines with as few laws as possible: with one that explains them all,
/// or with those of each line's own solution. Empty if these do not explain every line.
std::optional<std::vector<Told>> tell(const Arrangement& place, const std::vector<LineSystem>& lines,
                                      double threshold);

/// The cells that are used too often or not at all, if no law describes them; empty if they cannot be
/// described.
std::optional<Cause> cause_of_cells(const Arrangement& place, const BlockProblem& problem,
                                    const std::vector<LineSystem>& lines, const std::string& where);

/// As a cause; `where` precedes the sentence. `of_dq`: the final factors are keys, not values.
Cause cause_of(const Told& told, const Arrangement& place, const std::string& where, bool of_dq = false);

}  // namespace ringcraft::verify
