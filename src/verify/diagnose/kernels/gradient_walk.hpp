#pragma once
/// @file
/// Backward kernels that walk over tiles of 32 rows and 32 keys, with mistakes: dq by its rows, dk and dv by
/// their keys. Internal to the harness.

#include <optional>
#include <string>
#include <vector>

#include "ringcraft/attention/blockwise.hpp"
#include "verify/diagnose/exhibit.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// The mistakes of a walk; the first value of each is the right one. "Own" rows stay in place, "other" rows
/// stream past them.
struct GradientWalk {
  /// The place from which lse, or delta, is read.
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
  /// Treatment of lse.
  enum class Lse : std::uint8_t { kRight, kNone, kAdded, kScaled, kHalved, kIsDelta, kOfTile, kNatural };
  /// Treatment of delta.
  enum class Delta : std::uint8_t { kRight, kNone, kAdded, kScaled, kIsLse, kDoubled, kOfTile };
  /// The exponential, and the factor of the scores in it.
  enum class Exponent : std::uint8_t { kRight, kBaseTwo, kUnscaled, kTwice, kRoot, kUnscaledTwo };
  /// The pairs that count.
  enum class Masked : std::uint8_t {
    kRight,
    kNone,
    kOtherInTile,  ///< other rows are counted within their tile
    kOwnInTile,    ///< own rows are counted within theirs
    kEndShort,
    kEndLong,
    kEarly,  ///< the range is shifted by -1
    kLate,   ///< the range is shifted by 1
    kNoBegin,
    kNoEnd,
    kTurned,  ///< the ranges of rows and keys are exchanged
  };
  /// The contents of a product of scores.
  enum class Sum : std::uint8_t {
    kRight,
    kAddsUp,        ///< accumulates the same places of earlier tiles
    kAddsUpInHead,  ///< the same, within this query head
    kMissing,       ///< 0
    kExchanged,     ///< S uses v for k, or dP uses k for v
    kOfOtherRow,    ///< S uses dout for q, or dP uses q for dout
  };
  /// The formula of dS.
  enum class Formula : std::uint8_t { kRight, kNoWeight, kOnlyDp, kSquared, kNegative };
  /// The final factor.
  enum class Factor : std::uint8_t { kRight, kNone, kTwice, kLog2, kOfDvToo };
  /// The tile whose data an other tile holds.
  enum class Data : std::uint8_t { kRight, kFirst, kBefore, kNext, kLast, kZero };
  /// The tiles that are visited.
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
    kSumsAgain,  ///< every visit adds the sum so far again
  };
  /// The factors of the weights.
  enum class Product : std::uint8_t {
    kRight,
    kOtherTensor,  ///< v for k; dout for q, and q for dout
    kTurned,       ///< weights are transposed in their tile
    kWeights,      ///< dS and P are exchanged: P k for dS k
    kFirstTile,    ///< right weights, but the first tile's rows
    kDsForP,       ///< only dv: dSᵀ dout
    kPForDs,       ///< only dk: Pᵀ q
  };
  /// The heads that belong together.
  enum class Heads : std::uint8_t {
    kRight,
    kModulo,
    kZero,
    kFirstAlone,     ///< the first query head of a group
    kFromZero,       ///< every KV head takes the query heads of the first
    kFromZeroOfAll,  ///< the same, of batch entry 0
    kOfFirst,        ///< q and dout are those of the group's first head
  };
  /// The columns that are computed.
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
/// dq of a query row of head `head`.
WalkedGradient walked_dq(const GradientScene& x, Index batch, Index head, Index row,
                         const GradientWalk& walk);
/// dk and dv of a key of KV head `head`.
std::pair<WalkedGradient, WalkedGradient> walked_dkv(const GradientScene& x, Index batch, Index head,
                                                     Index key, const GradientWalk& walk);

/// The mistakes of a walk as causes. `of_keys`: of dk and dv.
std::vector<Cause> causes_of_walk(const GradientWalk& walk, bool of_keys);
/// Why two backward kernels on tiles of 32 are wrong: one or two mistakes of a kernel that explain all heads.
std::optional<Cause> cause_of_gradients(const std::vector<const AttentionExhibit*>& heads);

}  // namespace ringcraft::verify
