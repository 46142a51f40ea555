#pragma once
/// @file
/// Laws of how parts of a gradient are lost or changed on the way into its sums: which parts, of which heads,
/// batch entries and halves, and what happened to them. Internal to the harness.

#include <string>
#include <utility>
#include <vector>

#include "verify/diagnose/solve/gradient/share_parts.hpp"

namespace ringcraft::verify {

/// A selection of parts by step, rank and node.
struct ShareWhich {
  /// r is the shard, a the block, t the step; nodes are `node` ranks with neighbouring numbers.
  enum class Kind : std::uint8_t {
    kAll,
    kOwn,           ///< t = 0
    kReceived,      ///< t > 0
    kEarlier,       ///< a < r
    kLater,         ///< a > r
    kStep,          ///< t = number
    kFromStep,      ///< t >= number
    kUpToStep,      ///< t <= number
    kShard,         ///< r = number
    kBlock,         ///< a = number
    kHidden,        ///< the shard sees nothing of the block
    kMiddle,        ///< all steps but the first and the last
    kEnds,          ///< the first step and the last
    kOdd,           ///< t odd
    kEven,          ///< t even
    kEvenReceived,  ///< the same without the own block
    kNeighbours,    ///< t = 1 or N - 1
    kFarther,       ///< 1 < t < N - 1
    kOfShard,       ///< r = number, and t > 0
    kForBlock,      ///< a = number, and t > 0
    kNodeMates,     ///< r and a are two ranks of one node
    kOtherNodes,    ///< r and a are of different nodes
    kNodeStep,      ///< the nodes are `number` apart
    kNodesUpTo,     ///< at most `number` apart
    kSeatsUpTo,     ///< the same of places in their nodes
    kSeatStep,      ///< the places in their nodes are `number` apart
    kOtherSeats,    ///< these are different
    kCrossSeats,    ///< nodes and places are different
    kCounterparts,  ///< nodes are different and places the same
  };
  Kind kind = Kind::kAll;
  int number = 0, node = 1;
};

/// A selection of batch entries, heads and halves.
struct ShareScope {
  /// Heads are query heads, except for kv heads.
  enum class Kind : std::uint8_t {
    kAll,
    kFirstEntry,
    kLaterEntries,
    kLastEntry,
    kFromInGroup,  ///< those of a group from `number` on
    kUpToInGroup,  ///< the first `number` of a group
    kFirstKvHead,
    kLaterKvHeads,
    kEarlyRows,
    kLateRows,
    kEarlyKeys,
    kLateKeys,
  };
  Kind kind = Kind::kAll;
  Index number = 0;
};

/// A law: a change, and the parts that it applies to.
struct ShareLaw {
  /// The kinds of changes.
  enum class Deed : std::uint8_t {
    kFactor,       ///< they get a factor; 0: they are lost
    kAssigned,     ///< they overwrite the sum instead of being added: its contents are lost
    kReset,        ///< the same, even if nothing is visible
    kHeadsStored,  ///< each query head of a group overwrites the one before
    kFadesBefore,  ///< the sum is multiplied by the factor before each part is added
    kFadesAfter,   ///< the same after it was added
    kCounted,      ///< each is divided by the number of parts with a visible pair
    kRepeated,     ///< the sum so far is added again at each step
    kMeans,        ///< the sum begins with the first part; then it is the mean of itself and each other
  };
  /// The order of the steps.
  enum class Order : std::uint8_t {
    kForward,
    kBackward,  ///< blocks travel in the other direction
    kOwnLast,   ///< the own block comes after all others
  };
  /// A factor and its name.
  struct Factor {
    double value;
    std::string words;  ///< "is divided by the number of ranks"
    std::string noun;   ///< "1 / ranks"
  };
  Deed deed = Deed::kFactor;
  ShareWhich which = {};
  ShareScope scope = {};
  Factor factor = {0, "", ""};
  Order order = Order::kForward;
  bool skips = false;  ///< steps without a visible pair do not count
};

/// The multiplicity of each part of a sum under a law; 0 for parts without a visible pair.
std::vector<double> coefficients(const ShareLaw& law, const Evidence& evidence, const ShareSum& sum);

/// Whether a part is one of those selected by a law.
bool holds(const ShareWhich& which, int ranks, const Share& share);

/// The laws to try, the more common ones first.
std::vector<ShareLaw> share_laws(const Evidence& evidence, GradientName name);

/// Whether the parts under a law give all claimed sums.
bool gives_claim(const std::vector<ShareSum>& sums, const ShareLaw& law, const Evidence& evidence);

/// "the parts of step 2", and whether the phrase is plural.
std::pair<std::string, bool> parts_words(const ShareWhich& which, int ranks);
/// Simple selections of parts, by step and by rank.
std::vector<ShareWhich> plain_parts(int ranks);

/// Why a gradient is wrong, if pairs within a block are lost: tiles that overwrite one another, rows and keys
/// beyond the shortest shard.
std::optional<Cause> cause_of_lost_pairs(const Evidence& evidence, GradientName name, const Setting& forward);

/// Factors that may multiply a part, or a whole gradient.
std::vector<ShareLaw::Factor> share_factors(const Evidence& evidence, GradientName name);

/// Describes a law.
Cause cause_of(const ShareLaw& law, const Evidence& evidence, GradientName name);

}  // namespace ringcraft::verify
