#pragma once
/// @file
/// Solve for what was computed: out and lse, and the gradients, are linear in what the blocks contribute, so
/// that a wrong ring is a wrong coefficient. The scores' factor and the map of heads are tried from outside;
/// for each, the lines of all shards (or blocks) are solved, and what deviates is told.

#include <optional>
#include <string>
#include <vector>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// What is tried from outside: everything but the coefficients.
struct Setting {
  /// Which key head, of which batch entry, a query head reads.
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
    kOfRank,      ///< of the rank that has it, where heads are dealt to ranks: rank % kv_heads
    kFirstBatch,  ///< the right head of batch entry 0
  };
  /// Which columns the dot product of q and k sums.
  enum class Columns : std::uint8_t {
    kAll,
    kLastLost,   ///< all but the last
    kTailLost,   ///< whole pieces of `piece` columns
    kLastTwice,  ///< the last one twice
    kFirstHalf,
  };
  /// Which rows of k or v stand for those of a key.
  enum class Rows : std::uint8_t {
    kRight,
    kFromZero,  ///< the first visible key reads row 0
    kNext,      ///< one row later
    kBefore,    ///< one row earlier
    kReversed,  ///< from the last one backwards
  };
  /// What the sums of a row begin with.
  enum class Carry : std::uint8_t {
    kNothing,
    kOut,     ///< out of the row before
    kSum,     ///< the sum of the row before that is not yet divided
    kWeight,  ///< the same, with its maximum
  };
  double scale = 0;                   ///< of the scores
  double received_scale = 0;          ///< the same with blocks that arrive; 0: no other
  std::string scale_words;            ///< what is wrong with it; empty: nothing
  bool scale_by_step = false;         ///< applied once more at each step
  Heads heads = Heads::kRight;        ///< whose k is read
  Heads value_heads = Heads::kRight;  ///< whose v is read
  Columns columns = Columns::kAll;
  int piece = 1;                   ///< of Columns::kTailLost
  Rows key_rows = Rows::kRight;    ///< of k
  Rows value_rows = Rows::kRight;  ///< of v
  bool values_are_keys = false;    ///< k stands for v
  bool keys_are_values = false;    ///< v stands for k
  Carry carry = Carry::kNothing;

  /// The factor of the scores of a shard and a block.
  double scale_of(int shard, int block) const {
    return shard != block && received_scale != 0 ? received_scale : scale;
  }
};

/// What a solution says.
struct SolvedPass {
  bool solved = false;
  std::vector<Cause> causes;  ///< empty though solved: nothing is wrong with this pass itself
  Setting setting;
  bool listed = false;  ///< only as a list of ranks and blocks
};

/// Of out and lse.
SolvedPass solve_forward(const Evidence& evidence);

/// Of out where each row is right but for a factor, and of lse where it is made of the row's maximum and sum
/// in another way.
SolvedPass solve_rows(const Evidence& evidence);

/// Why out (or dq, by D) is wrong, where each block's own part is right and its weight is not.
std::optional<Cause> cause_of_weights(const Evidence& evidence, bool of_dq);

/// Why out or lse is wrong, where normalised results of the blocks are joined one after the other.
std::optional<Cause> cause_of_fold(const Evidence& evidence);

/// Why out or lse is wrong, where hidden pairs keep a weight because their scores are finite.
std::optional<Cause> cause_of_finite_mask(const Evidence& evidence);

/// Why out or lse is wrong, where running maxima, sums and outputs are joined with the wrong factors.
std::optional<Cause> cause_of_rescaling(const Evidence& evidence);

/// Why out or lse is wrong by a little, where what waits between two steps is rounded to a type of 16 bits.
std::optional<Cause> cause_of_rounded_state(const Evidence& evidence);

/// Why gradients are wrong by a little, where P is made of an lse that was rounded to a type of 16 bits.
std::optional<Cause> cause_of_rounded_lse(const Evidence& evidence);

/// Why this tensor of an Answer (0: out) is wrong, where each row is a right one of another place.
std::optional<Cause> cause_of_places(const Evidence& evidence, std::size_t tensor);

/// Why this tensor is wrong, where some rows are missing and all others right.
std::optional<Cause> cause_of_missing(const Evidence& evidence, std::size_t tensor);

/// The gradients.
enum class GradientName : std::uint8_t { kDq, kDk, kDv };

/// Of one gradient, that starts from the claimed out and lse, or from right ones. `forward` is the setting in
/// which forward was solved.
SolvedPass solve_gradient(const Evidence& evidence, GradientName name, const Setting& forward);

/// Why a gradient is wrong, where its parts are right and are added to the wrong sums, or too often.
std::optional<Cause> cause_of_shares(const Evidence& evidence, GradientName name, const Setting& forward);

/// Why rows are no numbers, where they are those that have seen a block that arrives.
std::optional<Cause> cause_of_unread_blocks(const Evidence& evidence);

/// Why a gradient is wrong, where its parts are right but for a factor: of D, of the own block, of a step.
std::optional<Cause> cause_of_part_factors(const Evidence& evidence, GradientName name,
                                           const Setting& forward);

}  // namespace ringcraft::verify
