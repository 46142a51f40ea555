#pragma once
/// @file
/// The possible mistakes of an implementation of sharded attention, as data. A Twist with every member at its
/// first value is right attention; each other value is a common mistake. twisted_ring.hpp computes the result
/// of a twist on given inputs, suspects.hpp names the mistakes.

#include <cstdint>
#include <optional>

#include "verify/diagnose/twisted/pair_law.hpp"
#include "verify/diagnose/twisted/scan_twist.hpp"

namespace ringcraft::verify {

/// The factor of the scores.
enum class ScaleTwist : std::uint8_t {
  kRight,
  kNone,          ///< plain dot products
  kSquared,       ///< applied twice: 1/head_dim where 1/sqrt(head_dim) is right
  kInverse,       ///< divides by the scale: multiplies by sqrt(head_dim)
  kAfterSoftmax,  ///< scales the weights instead of the scores
  kWholeWidth,    ///< 1/sqrt(heads * head_dim)
  kUsual,         ///< 1/sqrt(head_dim), where another one is given
};

/// The keys that a query sees.
enum class MaskTwist : std::uint8_t {
  kRight,
  kForgotten,          ///< every key
  kCausalAdded,        ///< also causal
  kNoWindow,           ///< no limit to the left
  kWindowShort,        ///< one key fewer to the left
  kWindowLong,         ///< one key more to the left
  kRightShort,         ///< one key fewer to the right
  kNoRight,            ///< no limit to the right
  kCentred,            ///< half of the keys to the left, and as many to the right
  kOfNextQuery,        ///< those that the query after it should see
  kOfQueryBefore,      ///< those that the query before it should see
  kWindowUnshifted,    ///< each block by its local rows, as if it were the own one
  kFlipped,            ///< query and key are exchanged
  kComplement,         ///< the keys that should be hidden, and no others
  kStrict,             ///< `>` for `>=`: no query sees itself
  kAhead,              ///< one key more to the right
  kAheadInOwnBlock,    ///< the same in the own block alone
  kFutureVisible,      ///< blocks of later ranks whole
  kOwnVisible,         ///< the own block whole
  kLaterSkipped,       ///< blocks of later ranks not at all
  kEarlierWhole,       ///< blocks of earlier ranks whole, of later ranks not at all
  kNoPacks,            ///< one sequence
  kPacksLate,          ///< every inner border one token later
  kPacksEarly,         ///< every inner border one token earlier
  kPacksLateFromZero,  ///< every border but the last one token later: token 0 stands alone
  kFirstPackOnly,      ///< the first inner border alone
  kNotLastOfBlock,     ///< the last key of each block is left out
  kNotFirstOfBlock,    ///< the first one is
  kPacksInOwnBlock,    ///< borders count in the own block alone
  kDoneAfterEmpty,     ///< no block after the rank's first one without a visible pair
  kOfOtherRank,        ///< those that the owner's query in the same row would see of the rank's own keys
};

/// A finite number such as code takes for minus infinity.
inline constexpr double kLow = -1e4;

/// The treatment of a masked score.
enum class MaskedTwist : std::uint8_t {
  kRight,
  kScoreZero,      ///< it is 0 and counts
  kZeroWhereSeen,  ///< the same, in blocks of which the row sees a key
  kAfterSoftmax,   ///< its weight is removed after the weights were normalised
  kSetLow,         ///< it is Twist::low
  kLowered,        ///< Twist::low is added to it
};

/// The positions that the mask compares.
enum class PositionTwist : std::uint8_t {
  kRight,
  kLocal,       ///< rows of the shard and rows of the block
  kLocalRows,   ///< rows of the shard, and the keys' positions
  kLocalKeys,   ///< the rows' positions, and rows of the block
  kContiguous,  ///< as if shards were runs of neighbours
};

/// The block for which the mask takes the one in hand.
enum class LabelTwist : std::uint8_t {
  kRight,     ///< rank - step
  kAhead,     ///< rank + step
  kOwn,       ///< rank
  kNext,      ///< rank - step - 1: the block being received
  kLast,      ///< rank - step + 1: the one that was in hand before
  kLastStep,  ///< the same, at the last step alone
};

/// The block in hand at each step.
enum class WalkTwist : std::uint8_t {
  kRight,
  kOneShort,      ///< the last step is missing
  kOwnTwice,      ///< one step more: the own block again
  kOwnSkipped,    ///< the own block is left out
  kOwnOnly,       ///< the own block alone
  kNothingMoves,  ///< the own block at every step, labelled as the expected one
  kValuesStay,    ///< keys travel, values do not
  kKeysStay,      ///< values travel, keys do not
  kCrossed,       ///< keys and values are exchanged at odd steps
  kStepLate,      ///< that of the step before, labelled as the expected one
  kValuesLate,    ///< the same, of values alone
  kKeysLate,      ///< of keys alone
  kFirstValues,   ///< on one device: v is read at the index within the tile
  kFirstKeys,     ///< the same with k
  kFirstBoth,     ///< with both
  // If a rank has no visible pair at a step, it omits
  kNotPassedOn,       ///< the send: its neighbour keeps its block, and knows whose it is
  kNotPassedOnBlind,  ///< the same, and the neighbour takes it for the expected one
  kNotTaken,          ///< the receive: it keeps its block, and knows whose it is
  kNotTakenBlind,     ///< the same, and takes it for the expected one
};

/// The blocks that a rank computes with: in right attention the same, whichever of these it is.
enum class RouteTwist : std::uint8_t {
  kAll,
  kReached,  ///< those of which it, or a rank further along, sees a key: others do not come so far
  kSeen,     ///< those of which it sees a key: others are skipped
};

/// The key head that a query head reads.
enum class HeadTwist : std::uint8_t {
  kRight,       ///< head / (heads / kv_heads)
  kModulo,      ///< head % kv_heads
  kByKvHeads,   ///< head / kv_heads
  kFirst,       ///< head 0
  kFirstBatch,  ///< the right head of batch entry 0
};

/// Keys after the last whole block of `granule` keys, and keys that do not exist.
enum class TailTwist : std::uint8_t {
  kRight,
  kDropped,           ///< never seen
  kZeroPadded,        ///< followed by keys of zeros that count
  kSink,              ///< one key of zeros counts in each row ("softmax1", an attention sink)
  kSinkInBlocks,      ///< one in each block
  kSinkInSeenBlocks,  ///< one in each block of which a row of the rank sees a key
  // In a ring whose shards differ in length, the last keys of a longer block are
  kLostOnTheWay,  ///< lost once the block has passed a rank with fewer rows
  kZeroOnTheWay,  ///< zeros that count from there on
  kLostHere,      ///< lost on each rank with fewer rows
  kZeroHere,      ///< zeros that count there
  kLastAgain,     ///< shorter blocks repeat their last key, up to the longest length
};

/// How partial results are merged.
enum class MergeTwist : std::uint8_t {
  kRight,
  kSumNotRescaled,      ///< l keeps its old maximum
  kOutNotRescaled,      ///< O keeps its old maximum
  kNoRescale,           ///< both keep it
  kInverseFactor,       ///< exp(new - old)
  kAverage,             ///< the mean of the partials that saw a key
  kAverageOfAll,        ///< their sum over the number of steps
  kRunningAverage,      ///< half old, half new
  kByCount,             ///< weighted by the number of keys
  kSwapped,             ///< each side takes the other's weight
  kMaximumLost,         ///< l and O are added as if they had one maximum
  kUnshifted,           ///< weights exp(lse): too large or too small
  kLogOnePlusExp,       ///< lse + log(1 + exp(new - lse)): too large
  kBase2Blocks,         ///< lse of blocks to the base 2, joined by exp and log
  kBase2Joined,         ///< natural lse of blocks, joined by exp2 and log2
  kNoMaximum,           ///< exp(score): too large or too small
  kNoMaximumZeroed,     ///< the same, and 0 where the result is no number
  kMaximumFromZero,     ///< the maximum begins at 0
  kNanForEmpty,         ///< a block without a visible key: -inf - (-inf)
  kNanForFirst,         ///< the same for the first block alone
  kDividedEachStep,     ///< O is divided by l and used on
  kNotDivided,          ///< the division at the end is missing
  kDividedByCount,      ///< divides by the number of keys instead of l
  kDividedBlocks,       ///< divided partials enter a sum that l divides again
  kRawBlocks,           ///< undivided partials enter a weighted mean
  kFirstSum,            ///< l is that of the first block
  kLastSum,             ///< l is that of the last block
  kLastSeen,            ///< resets at each block that has a visible key
  kLastStep,            ///< resets at each step
  kEmptyLseZero,        ///< a block without a visible key has the lse 0, and counts
  kLseInBFloat16,       ///< lse is rounded to bfloat16 after every merge, whose weights are right
  kLseInFloat16,        ///< to float16
  kNewInBFloat16,       ///< lse is rounded to bfloat16 in every merge, before its weights
  kNewInFloat16,        ///< to float16
  kOutInBFloat16,       ///< out is rounded to bfloat16 after every merge
  kOutInFloat16,        ///< to float16
  kBothInBFloat16,      ///< out and lse are, after every merge
  kBothInFloat16,       ///< to float16
  kOutOnceInBFloat16,   ///< out is rounded to bfloat16 once, after the last merge
  kOutOnceInFloat16,    ///< to float16
  kBothOnceInBFloat16,  ///< out and lse are, after the last merge
  kBothOnceInFloat16,   ///< to float16
};

/// The lse that is returned.
enum class LseTwist : std::uint8_t {
  kRight,
  kBase2,          ///< to the base 2
  kMaximum,        ///< the largest score
  kSum,            ///< l
  kLogSum,         ///< log l: the maximum is lost
  kExp,            ///< exp(lse): the logarithm is missing
  kZero,           ///< never written
  kOwnBlock,       ///< of the own block
  kLastBlock,      ///< of the last block with a visible key
  kLastMaximum,    ///< that block's maximum and the sum of all
  kAdded,          ///< the sum of the blocks' lse
  kNegative,       ///< with the wrong sign
  kOfWeights,      ///< of the weights instead of the scores
  kLog2OfSum,      ///< the maximum and log2 l
  kBareMaximum,    ///< the maximum in it is that of q . k
  kPlusLogBlocks,  ///< log of the number of blocks is added
};

/// The row that each row of the claim holds.
enum class RowTwist : std::uint8_t {
  kRight,
  kLayoutOrder,   ///< rows are in rank order
  kInverseOrder,  ///< rows are put back by the permutation instead of its inverse
  kHeadsInside,   ///< the memory is [batch, seqlen, heads, head_dim]
  kHeadsOutside,  ///< viewed as that, and transposed from there
  kShardInside,   ///< the same two within each shard
  kShardOutside,
  kRankBefore,  ///< the row at the same index of the rank before
  kNextRank,    ///< of the next rank
  kHalves,      ///< the two halves of each shard, or its two chunks, are exchanged
};

/// The rows of k and v (or of dout) that a rank received.
enum class DealTwist : std::uint8_t {
  kRight,
  kPlain,       ///< neighbours, although the layout assigns others
  kTwice,       ///< the permutation was applied twice
  kThrice,      ///< once more, to gathered rows in rank order, instead of its inverse
  kPlainTwice,  ///< the inverse twice
};

/// The weights that backward recomputes.
enum class WeightTwist : std::uint8_t {
  kRight,           ///< exp(score - lse)
  kMaximum,         ///< exp(score - maximum)
  kBlockLse,        ///< exp(score - lse of the block)
  kBase2Lse,        ///< exp(score - lse / log 2)
  kUnscaled,        ///< exp(score without its scale - lse)
  kLseInBFloat16,   ///< exp(score - lse in bfloat16)
  kLseInFloat16,    ///< exp(score - lse in float16)
  kBeforeLast,      ///< exp(score - lse before the block of the last step)
  kBeforeLastSeen,  ///< exp(score - lse before the last block with a visible key)
  kFirstStep,       ///< exp(score - lse after the first step)
  kLastBlockLse,    ///< exp(score - lse of the last block with a visible key)
};

/// The term delta of dS = P (dP - delta).
enum class DeltaTwist : std::uint8_t {
  kRight,       ///< rowsum(dout out)
  kNone,        ///< 0
  kRawOut,      ///< of the undivided out
  kBlockOut,    ///< of the block's own out
  kBlockShare,  ///< of the block's share of out
  kAdded,       ///< dP + delta
  kPlainRows,   ///< of the rows of dout at those indices before they are distributed
  kBeforeLast,  ///< of out before the block of the last step
  kFirstStep,   ///< of out after the first step
};

/// The parts that dq keeps.
enum class DqTwist : std::uint8_t {
  kRight,
  kLastStep,  ///< the last step's part
  kLastSeen,  ///< the part of the last step that has a visible pair
  kOwnBlock,  ///< the own block's part
  kOneShort,  ///< all but the last step
};

/// The parts that arrive in dk and dv.
enum class JourneyTwist : std::uint8_t {
  kRight,
  kStay,           ///< added up where they are computed
  kOneHopShort,    ///< they end on the rank before their owner
  kOneHopLong,     ///< they end on the rank after their owner
  kOpposite,       ///< they walk against their block
  kOppositeShort,  ///< the same, one hop short
  kReset,          ///< only the last step's part, in the direction of forward
  kOwnOnly,        ///< only the part of the owner's queries
  kOneStepShort,   ///< all parts but the last step's
  kLastRank,       ///< only the part of the last rank's queries
};

/// The contribution of a group's heads to their key head.
enum class GroupTwist : std::uint8_t { kRight, kLastHead, kFirstHead, kAverage };

/// A yes-or-no choice, for mistakes without other variants.
enum class Done : std::uint8_t { kNo, kYes };

/// One mistake, or several at once.
struct Twist {
  ScaleTwist scale{};         ///< forward, and backward where it repeats forward
  MaskTwist mask{};           ///< which keys are visible
  MaskedTwist masked{};       ///< how the others count
  double low = kLow;          ///< of masked: the number that stands for minus infinity
  PositionTwist positions{};  ///< the positions that the mask compares
  LabelTwist label{};         ///< the block for which the mask takes the one in hand
  NodeLabel nodes{};          ///< the same, of a double ring
  int inner = 1;              ///< ranks of a node
  PairLaw law{};              ///< a mask of another law
  WalkTwist walk{};           ///< which block is in hand
  RouteTwist route{};         ///< which blocks are computed with at all
  HeadTwist heads{};          ///< which key head is read
  TailTwist tail{};           ///< how the last keys are treated
  int granule = 0;            ///< of the tail: keys of a block; 0: the number of ranks
  MergeTwist merge{};         ///< how blocks are merged
  ScanTwist scan{};           ///< the same, key by key; only with a right merge
  LseTwist lse{};             ///< the lse that is returned
  RowTwist rows{};            ///< order of the rows in the claim
  DealTwist keys{};           ///< which rows of k and v a rank has
  DealTwist only_k{};         ///< of k only
  DealTwist only_v{};         ///< of v only

  WeightTwist weights{};       ///< P in backward
  DeltaTwist delta{};          ///< the D term
  DealTwist dout{};            ///< which rows of dout a rank has
  DqTwist dq{};                ///< what dq keeps
  JourneyTwist journey{};      ///< where dk and dv go
  RowTwist kv_rows{};          ///< the row that each row of dk and dv holds
  GroupTwist group{};          ///< how heads contribute to dk and dv
  Done through = Done::kNo;    ///< dS of masked pairs counts, though their scores are constant
  Done stale = Done::kNo;      ///< backward reads the own k and v at every step
  Done negated = Done::kNo;    ///< dS has the wrong sign
  Done swapped = Done::kNo;    ///< dk and dv are exchanged
  Done dv_turned = Done::kNo;  ///< dv from P instead of its transpose
  Done dk_turned = Done::kNo;  ///< dk from dS instead of its transpose
  int dq_scales = 1;           ///< how often the scale is in dq
  int dk_scales = 1;           ///< how often the scale is in dk
  int dkv_ranks = 0;           ///< dk and dv are multiplied by the number of ranks to this power
  int dq_ranks = 0;            ///< dq likewise

  friend bool operator==(const Twist&, const Twist&) = default;
};

/// Two mistakes at once; empty if they concern the same member.
std::optional<Twist> both(Twist a, const Twist& b);

}  // namespace ringcraft::verify
