#pragma once
/// @file
/// A merge kernel with mistakes in rows, lanes, columns, weights and sums. Internal to the harness.

#include <optional>
#include <vector>

#include "verify/diagnose/exhibit.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// The mistakes of a merge; the first value of each is the right one.
struct MergeWalk {
  /// The row of the block that is merged into row r.
  enum class Row : std::uint8_t { kRight, kFirst, kNext, kBefore, kOfSixteen, kHalf, kOfPair };
  /// The numbers of the block that are read from that row.
  enum class Of : std::uint8_t { kAll, kOut, kMax, kSum, kNumbers };
  /// Mistakes of two rows that share a warp.
  enum class Pair : std::uint8_t {
    kRight,
    kKeepsNumbers,  ///< the second one's m and l are not written
    kFirstMax,      ///< the second one uses the first one's m of acc
    kFirstWeights,  ///< the second one uses the weights of the first
    kOutAlone,      ///< no row's m and l are written
  };
  /// The new m, computed from both.
  enum class Largest : std::uint8_t { kRight, kAcc, kBlock, kSmaller, kAtLeast, kAtLeastZero, kNone };
  /// The exponential.
  enum class Exponent : std::uint8_t { kRight, kBaseTwo, kInverse, kHalf, kDoubled };
  /// The sides whose weights are wrong, and their values.
  enum class Weight : std::uint8_t {
    kRight,
    kAccOne,
    kBlockOne,
    kAccZero,
    kBlockZero,
    kExchanged,
    kBoth,     ///< both use that of the block
    kBothOld,  ///< both use that of acc
    kOut,      ///< the values from here on repeat those above, in O alone
    kOutAccOne,
    kOutBlockOne,
    kOutAccZero,
    kOutBlockZero,
    kOutExchanged,
    kOutBoth,
    kOutBothOld,
  };
  /// l as a sum of its two parts.
  enum class Sum : std::uint8_t {
    kRight,
    kAccTwice,  ///< the old one twice, the block's not at all
    kBlockTwice,
    kAccAlone,
    kBlockAlone,
    kAccSixteen,  ///< the old one 16 times
    kBlockSixteen,
    kAllSixteen,
    kAccUnweighted,
    kBlockUnweighted,
    kUnweighted,
    kAccKept,  ///< l is unchanged
    kExchanged,
  };
  /// lse, with n the sum of both weights.
  enum class Lse : std::uint8_t {
    kRight,
    kTimes,
    kAlone,
    kMinus,
    kBaseTwo,
    kLarger,
    kAccPlus,
    kBlockPlus,
    kAccKept
  };
  /// The divisor of the weights of normalised results.
  enum class Norm : std::uint8_t { kRight, kNone, kAccNot, kBlockNot, kTimes, kTwo, kProduct };
  /// Treatment of a side that has seen no key.
  enum class Empty : std::uint8_t {
    kRight,
    kEitherKept,   ///< the row is unchanged if either side has seen none
    kAccKept,      ///< the row is unchanged if acc has seen none
    kWeightOne,    ///< such a side has weight 1
    kAccOne,       ///< acc has weight 1 if it has seen none
    kWiped,        ///< a block without a key leaves zeros
    kNumbersKept,  ///< O is merged if acc has seen none, m and l are not
  };
  /// Blocks that are skipped.
  enum class Dropped : std::uint8_t { kNone, k1, k4, k5, k8, k10, k16, k20 };
  /// Columns that are merged.
  enum class Columns : std::uint8_t { kAll, kFours, k64, kWhole64, k16, kLastLost, kFirstGroup };
  Row row{};
  Of of{};
  Pair pair{};
  Largest largest{};
  Exponent exponent{};
  Weight weight{};
  Sum sum{};
  Lse lse{};
  Norm norm{};
  Empty empty{};
  Dropped dropped{};
  Columns columns{};
};

/// One resulting row: O (or out), m (or lse), l.
struct MergedRow {
  std::vector<double> out, size;
  double max = 0, sum = 0;
};
/// Row `row` of a merge with these mistakes.
MergedRow merged_row(const MergeExhibit& x, Index row, const MergeWalk& walk);

/// The mistakes of a merge as causes. `normalized`: of (out, lse).
std::vector<Cause> causes_of_walk(const MergeWalk& walk, bool normalized);
/// Why the two merge kernels are wrong: a mistake of each that explains all of its merges.
std::optional<Cause> cause_of_merges(const std::vector<MergeExhibit>& merges);

}  // namespace ringcraft::verify
