#pragma once
/// @file
/// A recipe: one way to compute P and dS of backward from the tensors that forward saved. Internal to the
/// harness.

#include <string>
#include <vector>

#include "verify/diagnose/solve/solve.hpp"

namespace ringcraft::verify {

/// One recipe; the first value of each member is the right one.
struct Recipe {
  /// The lse from which P is computed.
  enum class Lse : std::uint8_t {
    kClaimed,
    kRight,     ///< that of right attention, if the claimed one is wrong
    kBase2,     ///< divided by ln 2
    kTimesLn2,  ///< multiplied by ln 2
    kOwnBlock,  ///< that of each block alone
    kNegative,  ///< with the wrong sign
    kNone,      ///< 0
  };
  /// The D that is subtracted.
  enum class Delta : std::uint8_t {
    kClaimed,    ///< sum of dout * out
    kRight,      ///< with right attention's out
    kNone,       ///< 0
    kMean,       ///< their mean over the columns
    kOfDout,     ///< sum of dout * dout
    kOfOut,      ///< sum of out * out
    kOverHeads,  ///< summed over the heads, too
    kFirstHalf,  ///< summed over the first half of the columns
    kDoubled,    ///< twice
  };
  /// The formula of dS from P, dP, D and the scale.
  enum class Formula : std::uint8_t {
    kRight,             ///< scale P (dP - D)
    kAdded,             ///< scale P (dP + D)
    kUnweighted,        ///< scale (P dP - D)
    kUnweightedHidden,  ///< the same, and -D where P is 0 because the pair is hidden
    kWithoutP,          ///< scale (dP - D)
    kWithoutPHidden,    ///< the same of hidden pairs, too
    kDiagonal,          ///< scale P (1 - P) dP
    kScaledDp,          ///< P (scale dP - D)
    kScaledD,           ///< P (dP - scale D)
    kSquared,           ///< scale P P (dP - D)
  };
  /// The query heads that contribute to a key head.
  enum class Group : std::uint8_t {
    kSum,
    kFirst,    ///< the first of the group alone
    kLast,     ///< the last alone
    kMean,     ///< their mean
    kStrided,  ///< heads g, g + kv_heads, g + 2 kv_heads, ...
  };
  /// The factors of the final product.
  enum class Product : std::uint8_t {
    kRight,         ///< dS k, dS^T q, P^T dout
    kOtherFactor,   ///< dS v, dS^T dout, P^T q
    kOtherWeights,  ///< P k, P^T q, dS^T dout
    kPlainWeights,  ///< the same with dS without the softmax scale; of dv alone
  };
  /// The head, batch entry and row from which a tensor is read.
  enum class From : std::uint8_t {
    kRight,
    kOfFirst,      ///< the first head of the group
    kOfLast,       ///< the last head of the group
    kOfKvHead,     ///< h / group for head h
    kZero,         ///< head 0
    kInterleaved,  ///< where each rank has neighbouring heads: those of rank r, r + N, r + 2 N, ...
    kNextHead,     ///< h + 1
    kHeadBefore,   ///< h - 1
    kFirstBatch,   ///< the right head of batch entry 0
    kReshaped,     ///< [rows, heads] of a shard read as [heads, rows]
    kHalves,       ///< the row in the other half of the shard
    kLaterHalves,  ///< the same where the block is that of a later rank
    kOfOwner,      ///< the row of the rank that has the block
    kNextRank,     ///< the row of rank + 1
    kRankBefore,   ///< the row of rank - 1
    kNextRow,      ///< one row later in the shard
    kRowBefore,    ///< one row earlier in the shard
    kReversed,     ///< from the last row of the shard backwards
  };
  /// The block whose rows are in hand.
  enum class Data : std::uint8_t {
    kRight,
    kOwn,     ///< the rank's own at every step
    kBefore,  ///< that of the step before
    kNext,    ///< that of the next step
    kMirror,  ///< that of rank + t
  };
  Setting setting;
  Lse lse{};
  Delta delta{};
  Formula formula{};
  Group group{};
  Product product{};
  From lse_from{}, delta_from{}, dout_from{}, query_from{};
  Data k_data{}, v_data{};
  bool out_for_dout = false;     ///< dP and dv use out instead of dout; D is unchanged
  bool only_in_product = false;  ///< rows of dout or q are wrong in the last product only, not in P and dS
  bool dout_in_delta = false;    ///< D, too, uses the rows of dout that are read
};

/// The recipes to try, those with fewer mistakes first, without those that make no difference to this tensor.
std::vector<Recipe> recipes_of(const Evidence& evidence, GradientName name, const Setting& forward);

/// The mistakes of a recipe as causes; `forward` as in solve_gradient.
std::vector<Cause> causes_of(const Recipe& recipe, GradientName name, const Setting& forward,
                             const Arrangement& place);
/// Whether pairs that the mask hides contribute.
inline bool adds_hidden_pairs(const Recipe& recipe) {
  return recipe.formula == Recipe::Formula::kUnweightedHidden ||
         recipe.formula == Recipe::Formula::kWithoutPHidden;
}

/// P and dS (with the scale) of pairs, by a recipe.
class Weights {
 public:
  Weights(const Evidence& evidence, const Recipe& recipe);

  /// Of query row `row` of a head, and a key.
  struct Pair {
    double p, ds;
  };
  Pair operator()(Index batch, Index head, Index row, Index key) const;
  /// The rows of dout and q that are multiplied with them.
  std::span<const double> dout(Index batch, Index head, Index row, int block) const;
  std::span<const double> query(Index batch, Index head, Index row, int block) const;
  /// The key whose row of k is multiplied with them, -1 if the block in hand has no such row.
  Index key_in_hand(Index row, Index key) const;

 private:
  struct Place {
    Index batch, head, row;
  };
  Place read_for(Recipe::From from, Index batch, Index head, Index row, int block) const;
  std::size_t at(const Place& place) const;
  double delta(Index batch, Index head, Index row, int block) const;
  Index in_hand(Recipe::Data data, Index row, Index key) const;
  double lse_of_block(Index batch, Index head, Index row, int block) const;

  const Evidence& e_;
  Recipe recipe_;
  const Buffer& out_;                // from which D is computed
  std::vector<double> lse_, delta_;  // [batch, heads, rows]
  std::vector<double> block_lse_;    // [batch, heads, rows, blocks], if requested
};

}  // namespace ringcraft::verify
