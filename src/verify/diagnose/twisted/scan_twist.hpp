#pragma once
/// @file
/// The grammar of an online softmax: the possible mistakes at each place of a scan over the scores of a row,
/// as data. Mistakes at different places can be combined.

#include <cstdint>

namespace ringcraft::verify {

/// The mistakes of a scan; the first value of each is the right one.
struct ScanTwist {
  /// The new m at a part.
  enum class Max : std::uint8_t {
    kLarger,      ///< the larger of m and the part's maximum
    kNever,       ///< the m from before the first part
    kOfPart,      ///< that of the part alone
    kOfFirst,     ///< that of the first part that has a key
    kOfHidden,    ///< that of all keys, hidden ones too
    kMagnitude,   ///< that of |score|
    kSmaller,     ///< the smallest score so far
    kFirstKey,    ///< the larger of m and the part's first score
    kLastKey,     ///< the larger of m and the part's last score
    kFirstLost,   ///< that of all but the first key of the part
    kLastLost,    ///< that of all but the last key of the part
    kEnds,        ///< the larger of m, the part's first score and its last one
    kRising,      ///< a score that exceeds the one before it, whatever m is; m counts before the first
    kRisingBare,  ///< the same, and the first score, whatever m is
    kFromZero,    ///< at least 0
    kFromLowest,  ///< at least the lowest finite number, also where nothing is seen
  };
  /// The factor of the old l or O.
  enum class Factor : std::uint8_t {
    kRight,           ///< exp(old m - new m)
    kOne,             ///< 1
    kInverse,         ///< exp(new m - old m)
    kZero,            ///< 0: the previous state is lost
    kOfPart,          ///< exp(m of the part - new m)
    kOldToPart,       ///< exp(old m - m of the part)
    kBase2,           ///< 2^(old m - new m)
    kSquared,         ///< the right one twice
    kInverseBare,     ///< kInverse, also of a state that has seen nothing
    kLost,            ///< 0 where m grows
    kQuotient,        ///< exp(old m) / exp(new m) where m grows, each of which may overflow or vanish
    kQuotientAlways,  ///< the same, at every part
    kRising,          ///< exp(score before - new m) where a score exceeds the one before it
  };
  /// The weight of a key in l or O.
  enum class Weight : std::uint8_t {
    kRight,       ///< exp(score - new m)
    kOfPart,      ///< exp(score - m of the part)
    kOfOld,       ///< exp(score - old m), of the first part the new one
    kBare,        ///< exp(score)
    kRescaled,    ///< exp(score - new m) times the factor of the old l
    kRescaledOn,  ///< the same, but for the first part that has a key
    kBase2,       ///< 2^(score - new m)
    kScore,       ///< the score itself
    kOne,         ///< 1
    kTwice,       ///< twice the right one
    kPlus,        ///< exp(score + new m)
    kMinus,       ///< exp(new m - score)
    kQuotient,    ///< exp(score) / exp(new m)
    kBareStill,   ///< exp(score) where the score is not m
  };
  /// The parts at which keys are added.
  enum class When : std::uint8_t {
    kAlways,
    kNever,
    kGrown,     ///< where m grows
    kNotGrown,  ///< where it does not
    kNotFirst,  ///< at all but the first
    kNotLast,   ///< at all but the last
    kFirst,     ///< at the first alone
  };
  /// The contribution of a hidden key.
  enum class Hidden : std::uint8_t {
    kNothing,
    kInSum,       ///< its weight, to l alone
    kInOut,       ///< its weight, to O alone
    kScore,       ///< its score, to O alone
    kScoreAlone,  ///< the same, in a part of which the row sees nothing
    kZeroOut,     ///< exp(0 - new m), to O alone
    kZeroSum,     ///< exp(0 - new m), to l alone
    kOneOut,      ///< 1, to O alone
    kOneSum,      ///< 1, to l alone
    kEnds,        ///< nothing, and the scan stops there
  };
  /// The keys of a part that are added.
  enum class Keys : std::uint8_t {
    kAll,
    kFirstLost,     ///< all but the first
    kLastLost,      ///< all but the last
    kLastTwice,     ///< the last one twice
    kTiesLost,      ///< none whose score is m
    kTiesLostSum,   ///< the same, in l alone
    kFirstLostSum,  ///< all but the first, in l alone
    kLastLostSum,   ///< all but the last, in l alone
    kFirstLostOut,  ///< all but the first, in O alone
    kLastLostOut,   ///< all but the last, in O alone
    kOfOneLane,     ///< every 32nd, in l alone
    kNewTwice,      ///< those that set a new maximum twice
    kNewTwiceSum,   ///< the same, in l alone
    kOnward,        ///< those of all later parts, too
    kBackward,      ///< those of all earlier parts, too
    kEverywhere,    ///< those of all parts
  };
  /// The effect of a part without a visible key while m is still -inf.
  enum class Empty : std::uint8_t {
    kNothing,
    kNan,  ///< exp(-inf - (-inf)): all becomes NaN
  };
  /// The divisor of a row of O.
  enum class Divisor : std::uint8_t {
    kSum,        ///< l
    kSumUnless,  ///< l, unless that is 0: then the row stays 0
    kOfLast,     ///< l of the last part alone
    kSquared,    ///< l twice
    kSumRoot,    ///< the square root of l
    kMax,        ///< m
    kLse,        ///< m + log l
    kBeforeOf,   ///< l as it was before the last part
  };
  Max max{};
  Factor sum_factor{}, out_factor{};
  Weight sum_weight{}, out_weight{};
  When sum_when{}, out_when{};
  Hidden hidden{};
  Keys keys{};
  Divisor divisor{};
  Empty empty{};
  double slack = 0;  ///< m must grow by more before the old l is rescaled

  friend bool operator==(const ScanTwist&, const ScanTwist&) = default;
};

}  // namespace ringcraft::verify
