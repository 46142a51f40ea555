#pragma once
/// @file
/// Laws by which parts of a gradient go wrong on their way into its sums: which parts, of which heads, batch
/// entries and halves, and what became of them. Not for users of the harness.

#include <string>
#include <utility>
#include <vector>

#include "verify/diagnose/solve/gradient/share_parts.hpp"

namespace ringcraft::verify {

/// Which parts, by step, rank and node.
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

/// In which batch entries, heads and halves.
struct ShareScope {
  /// Heads are those of queries, but for kv heads.
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

/// What became of these parts.
struct ShareLaw {
  /// See above.
  enum class Deed : std::uint8_t {
    kFactor,       ///< they get a factor; 0: they are lost
    kAssigned,     ///< they are stored over the sum, not added: what was there is lost
    kReset,        ///< the same, also where nothing is seen
    kHeadsStored,  ///< each query head of a group is stored over the one before
    kFadesBefore,  ///< the sum is multiplied by the factor before each part is added
    kFadesAfter,   ///< the same after it was added
    kCounted,      ///< each is divided by the number of parts that see something
    kRepeated,     ///< the sum so far is added again at each step
    kMeans,        ///< the sum begins with the first part; then it is the mean of itself and each other
  };
  /// In which order the steps come.
  enum class Order : std::uint8_t {
    kForward,
    kBackward,  ///< blocks walk in the other direction
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
  bool skips = false;  ///< steps of which nothing is seen do not count
};

/// How often each part of a sum is in it by a law; 0 for those that see nothing.
std::vector<double> coefficients(const ShareLaw& law, const Evidence& evidence, const ShareSum& sum);

/// Whether it is one of the parts of a law.
bool holds(const ShareWhich& which, int ranks, const Share& share);

/// The laws to try, the more usual ones first.
std::vector<ShareLaw> share_laws(const Evidence& evidence, GradientName name);

/// Whether the parts give all sums that came, by a law.
bool gives_claim(const std::vector<ShareSum>& sums, const ShareLaw& law, const Evidence& evidence);

/// "the parts of step 2", and whether they are many.
std::pair<std::string, bool> parts_words(const ShareWhich& which, int ranks);
/// Parts by step and by rank, the plain ones.
std::vector<ShareWhich> plain_parts(int ranks);

/// Why a gradient is wrong, where pairs within a block are lost: tiles that overwrite one another, rows and
/// keys beyond the shortest shard.
std::optional<Cause> cause_of_lost_pairs(const Evidence& evidence, GradientName name, const Setting& forward);

/// Factors that a part, or a whole gradient, may get.
std::vector<ShareLaw::Factor> share_factors(const Evidence& evidence, GradientName name);

/// What a law says.
Cause cause_of(const ShareLaw& law, const Evidence& evidence, GradientName name);

}  // namespace ringcraft::verify
