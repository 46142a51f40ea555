#pragma once
/// @file
/// Solves for the computation: out and lse, and the gradients, are linear in the contributions of the blocks,
/// so a wrong ring is a wrong coefficient. Settings such as the scores' factor and the map of heads are
/// enumerated; for each, the lines of all shards (or blocks) are solved, and the deviations are described.

#include <optional>
#include <string>
#include <vector>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// An enumerated setting: everything except the coefficients.
struct Setting {
  /// The key head, and its batch entry, that a query head reads.
  enum class Heads : std::uint8_t {
    kRight,
    kModulo,      ///< head % kv_heads
    kFlatModulo,  ///< the same with batch and heads in one dimension
    kClamped,     ///< min(head, kv_heads - 1)
    kReversed,    ///< groups in the opposite order
    kNext,        ///< that of the next group
    kBefore,      ///< that of the group before
    kOneLate,     ///< (head + 1) / group
    kFirst,       ///< head 0
    kOfRank,      ///< if heads are distributed over ranks, of the rank that has it: rank % kv_heads
    kFirstBatch,  ///< the right head of batch entry 0
  };
  /// The columns that the dot product of q and k sums.
  enum class Columns : std::uint8_t {
    kAll,
    kLastLost,   ///< all but the last
    kTailLost,   ///< whole pieces of `piece` columns
    kLastTwice,  ///< the last one twice
    kFirstHalf,
  };
  /// The rows of k or v that are used for a key.
  enum class Rows : std::uint8_t {
    kRight,
    kFromZero,  ///< the first visible key reads row 0
    kNext,      ///< one row later
    kBefore,    ///< one row earlier
    kReversed,  ///< from the last one backward
  };
  /// The initial sums of a row.
  enum class Carry : std::uint8_t {
    kNothing,
    kOut,     ///< out of the row before
    kSum,     ///< the sum of the row before, not yet divided
    kWeight,  ///< the same, with its maximum
  };
  double scale = 0;                   ///< of the scores
  double received_scale = 0;          ///< the same for received blocks; 0: the same number
  std::string scale_words;            ///< description of its mistake; empty: none
  bool scale_by_step = false;         ///< applied once more at each step
  Heads heads = Heads::kRight;        ///< whose k is read
  Heads value_heads = Heads::kRight;  ///< whose v is read
  Columns columns = Columns::kAll;
  int piece = 1;                   ///< of Columns::kTailLost
  Rows key_rows = Rows::kRight;    ///< of k
  Rows value_rows = Rows::kRight;  ///< of v
  bool values_are_keys = false;    ///< k is used as v
  bool keys_are_values = false;    ///< v is used as k
  Carry carry = Carry::kNothing;

  /// The factor of the scores of a shard and a block.
  double scale_of(int shard, int block) const {
    return shard != block && received_scale != 0 ? received_scale : scale;
  }
};

/// The result of solving one pass.
struct SolvedPass {
  bool solved = false;
  std::vector<Cause> causes;  ///< empty though solved: this pass itself has no mistake
  Setting setting;
  bool listed = false;  ///< described only as a list of ranks and blocks
};

/// Solves for out and lse.
SolvedPass solve_forward(const Evidence& evidence);

/// Explains out if each row is right up to a factor, and lse if it combines the row's maximum and sum in
/// another way.
SolvedPass solve_rows(const Evidence& evidence);

/// Why out (or dq, by D) is wrong, if each block's own part is right and its weight is not.
std::optional<Cause> cause_of_weights(const Evidence& evidence, bool of_dq);

/// Why out or lse is wrong, if normalised results of the blocks are merged one after the other.
std::optional<Cause> cause_of_fold(const Evidence& evidence);

/// Why out or lse is wrong, if hidden pairs keep a weight because their scores are finite.
std::optional<Cause> cause_of_finite_mask(const Evidence& evidence);

/// Why out or lse is wrong, if running maxima, sums and outputs are merged with wrong factors.
std::optional<Cause> cause_of_rescaling(const Evidence& evidence);

/// Why this tensor of an Answer (0: out) is wrong, if each row is a right one of another place.
std::optional<Cause> cause_of_places(const Evidence& evidence, std::size_t tensor);

/// Why this tensor is wrong, if some rows are missing and all others right.
std::optional<Cause> cause_of_missing(const Evidence& evidence, std::size_t tensor);

/// The gradients.
enum class GradientName : std::uint8_t { kDq, kDk, kDv };

/// Solves for one gradient that starts from the claimed out and lse, or from right ones. `forward` is the
/// setting in which forward was solved.
SolvedPass solve_gradient(const Evidence& evidence, GradientName name, const Setting& forward);
/// The same, but for recipes that explain the whole gradient: which pairs of a shard and a block are wrong.
SolvedPass solve_gradient_by_pairs(const Evidence& evidence, GradientName name, const Setting& forward);

/// Why a gradient is wrong, if its parts are right but added to the wrong sums, or too often.
std::optional<Cause> cause_of_shares(const Evidence& evidence, GradientName name, const Setting& forward);

/// Why rows are not numbers, if they are those that have seen a received block.
std::optional<Cause> cause_of_unread_blocks(const Evidence& evidence);

/// Why rows are not numbers, if they are those whose scores overflow float16 before they are scaled.
std::optional<Cause> cause_of_half_scores(const Evidence& evidence);

/// Why rows are not numbers, if they are those that hide a key, and the softmax scale is 0 or negative.
std::optional<Cause> cause_of_scaled_mask(const Evidence& evidence);

/// Why a gradient is wrong, if its parts are right up to a factor: of D, of the own block, of a step.
std::optional<Cause> cause_of_part_factors(const Evidence& evidence, GradientName name,
                                           const Setting& forward);

}  // namespace ringcraft::verify
