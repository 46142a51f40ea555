#pragma once
/// @file
/// Backward kernels that walk over tiles of 32 rows and 32 keys, with mistakes: dq by its rows, dk and dv by
/// their keys. Not for users of the harness.

#include <optional>
#include <string>
#include <vector>

#include "ringcraft/attention/blockwise.hpp"
#include "verify/diagnose/exhibit.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// See above; the first value of each is the right one. "Own" are the rows that stay, "other" those that pass
/// by.
struct GradientWalk {
  /// At which place lse, or delta, is looked for.
  enum class Place : std::uint8_t {
    kRight,
    kWithinTile,   ///< the number of the row within its tile
    kFirstOfTile,  ///< the tile's first row
    kOfThread,     ///< the tile's row 0 or 1: which of a thread's rows it is
    kPartner,      ///< the number of the key
    kPartnerTile,  ///< that of the key within its tile, in the row's tile
    kNext,
    kBefore,
    kHeadZero,
    kFirstOfGroup,
    kKvHead,
    kBatchZero,
    kFirstOfAll,  ///< head 0 of batch entry 0
  };
  /// What becomes of lse.
  enum class Lse : std::uint8_t { kRight, kNone, kAdded, kScaled, kHalved, kIsDelta, kOfTile, kNatural };
  /// What becomes of delta.
  enum class Delta : std::uint8_t { kRight, kNone, kAdded, kScaled, kIsLse, kDoubled, kOfTile };
  /// The exponential, and the factor of the scores in it.
  enum class Exponent : std::uint8_t { kRight, kBaseTwo, kUnscaled, kTwice, kRoot, kUnscaledTwo };
  /// Which pairs count.
  enum class Masked : std::uint8_t {
    kRight,
    kNone,
    kOtherInTile,  ///< other rows are counted within their tile
    kOwnInTile,    ///< own rows are counted within theirs
    kEndShort,
    kEndLong,
    kEarly,  ///< the range begins and ends one early
    kLate,   ///< the range begins and ends one late
    kNoBegin,
    kNoEnd,
    kTurned,  ///< the ranges of rows and keys have changed places
  };
  /// What a product of scores holds.
  enum class Sum : std::uint8_t {
    kRight,
    kAddsUp,        ///< the same places of the tiles before, too
    kAddsUpInHead,  ///< the same, of this query head alone
    kMissing,       ///< 0
    kExchanged,     ///< S has v for k, or dP has k for v
    kOfOtherRow,    ///< S has dout for q, or dP has q for dout
  };
  /// How dS is made.
  enum class Formula : std::uint8_t { kRight, kNoWeight, kOnlyDp, kSquared, kNegative };
  /// The factor at the end.
  enum class Factor : std::uint8_t { kRight, kNone, kTwice, kLog2, kOfDvToo };
  /// Whose data an other tile has.
  enum class Data : std::uint8_t { kRight, kFirst, kBefore, kNext, kLast, kZero };
  /// Which tiles are visited.
  enum class Visits : std::uint8_t {
    kAll,
    kFirstAlone,
    kLastAlone,
    kSkipsFirst,
    kSkipsLast,
    kWholeAlone,
    kToFirstEnd,
    kFromLast,
    kOfFirstTile,  ///< those of the first own tile
    kEveryFourth,
    kHeadsAnew,  ///< those of the last query head of the group
    kSumsAgain,  ///< in every turn the sum so far is added
  };
  /// What the weights are multiplied with.
  enum class Product : std::uint8_t {
    kRight,
    kOtherTensor,  ///< v for k; dout for q, and q for dout
    kTurned,       ///< weights stand transposed in their tile
    kWeights,      ///< dS and P have changed places; P k for dS k
    kFirstTile,    ///< right weights, and the first tile's rows
    kDsForP,       ///< of dv alone: dSᵀ dout
    kPForDs,       ///< of dk alone: Pᵀ q
  };
  /// Which heads belong together.
  enum class Heads : std::uint8_t {
    kRight,
    kModulo,
    kZero,
    kFirstAlone,     ///< the first query head of a group
    kFromZero,       ///< every KV head takes the query heads of the first
    kFromZeroOfAll,  ///< the same, of batch entry 0
    kOfFirst,        ///< q and dout are those of the group's first head
  };
  /// Which columns there are.
  enum class Columns : std::uint8_t { kAll, k64, k32, kFours, kLastLost };

  Place lse_place{}, delta_place{};
  Lse lse{};
  Delta delta{};
  Exponent exponent{};
  Masked masked{};
  Sum scores{}, dp{};
  Formula formula{};
  Factor factor{};
  Data data{};
  Visits visits{};
  Product product{};
  Heads heads{};
  Columns columns{};
  Place numbers_place{};  ///< of lse and delta alike
};

/// A backward problem in double.
struct GradientScene {
  explicit GradientScene(const AttentionExhibit& x);

  const AttentionExhibit& exhibit;
  Inputs in;
  Answer claim;
  KeyRanges by_row, by_key;
  std::vector<double> lse, delta;  ///< [batch, heads, rows]
};

/// A gradient's row, and the sum of its terms without their signs.
struct WalkedGradient {
  std::vector<double> value, size;
};
/// Of a query row of head `head`.
WalkedGradient walked_dq(const GradientScene& x, Index batch, Index head, Index row,
                         const GradientWalk& walk);
/// Of a key of KV head `head`: dk and dv.
std::pair<WalkedGradient, WalkedGradient> walked_dkv(const GradientScene& x, Index batch, Index head,
                                                     Index key, const GradientWalk& walk);

/// What is wrong with a walk. `of_keys`: of dk and dv.
std::vector<Cause> causes_of_walk(const GradientWalk& walk, bool of_keys);
/// Why two backward kernels on tiles of 32 are wrong: one or two mistakes of a kernel that explain all heads.
std::optional<Cause> cause_of_gradients(const std::vector<const AttentionExhibit*>& heads);

}  // namespace ringcraft::verify
