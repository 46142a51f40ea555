#pragma once
/// @file
/// Attention of one device as a program with mistakes: its addresses of q, k, v and out, the columns of its
/// products, the keys of its loops, and the number that its softmax subtracts and divides by (address.hpp has
/// the words). A row is not judged if it reads an unknown number, at an address beyond the end of a tensor.

#include <optional>
#include <vector>

#include "verify/diagnose/match.hpp"
#include "verify/diagnose/tiles/address.hpp"

namespace ringcraft::verify {

/// Mistakes of a softmax.
enum class SoftmaxSlip : std::uint8_t {
  kNone,
  kMaximumFrom,      ///< the maximum begins at `number`
  kMaximumIs,        ///< `number` is subtracted, whatever the scores are
  kUnscaledMaximum,  ///< the maximum of q . k is subtracted
  kFirstScore,       ///< the score of the first key is subtracted
  kSmallest,         ///< the smallest score is subtracted
  kLargestOfAll,     ///< the largest score of the whole matrix is subtracted
  kColumnMaximum,    ///< the maximum of the key's column, over all rows
  kColumnSum,        ///< divided by the sum of the key's column, over all rows
  kMatrixSum,        ///< divided by the sum of all rows
  kSumGoesOn,        ///< l begins with that of the previous row
  kOutGoesOn,        ///< O begins with that of the previous row, undivided
  kQuotientGoesOn,   ///< O begins with out of the previous row
  kBothGoOn,         ///< l and O both do
  kMaximumGoesOn,    ///< m begins with that of the previous row
  kAllGoOn,          ///< m, l and O do
  kScoreGoesOn,      ///< the product of a key begins with that of the previous key
  kSumSoFar,         ///< weights are divided by the sum up to their key
  kMaximumSoFar,     ///< weights are relative to the maximum so far, and are not rescaled when it grows
  kSquares,          ///< divided by the root of the sum of squares
  kFloatScores,      ///< scores are rounded to float32
  kFloatWeights,     ///< weights are rounded to float32
  kFloatBoth,        ///< both are
  kFloatShares,      ///< weights are divided by l and then rounded to float32
};

/// A mistake with its wording.
struct SoftmaxWord {
  const char *id, *words, *question;
  SoftmaxSlip slip = SoftmaxSlip::kNone;
  double number = 0;  ///< see SoftmaxSlip
};

/// The mistakes of a program; null: right.
struct AttentionLaw {
  const AddressWord *query = nullptr, *key = nullptr, *value = nullptr, *out = nullptr;
  const ColumnWord* columns = nullptr;
  const KeyWord* keys = nullptr;
  unsigned loops = 7;  ///< loops over keys concerned: of the maximum (1), of the sum (2), of the values (4)
  const SoftmaxWord* softmax = nullptr;
};

/// A program that runs on the inputs of a claim.
class AttentionProgram {
 public:
  /// The evidence must outlive it.
  explicit AttentionProgram(const Evidence& evidence);

  /// Whether it gives every row that can be judged, and these include enough of the wrong ones.
  bool explains(const AttentionLaw& law) const;
  /// Whether there are enough rows to distinguish pairs of mistakes.
  bool tells_pairs() const;
  /// Multiplications of one row.
  double work_of_row() const;

 private:
  struct State {  // of one row
    std::vector<double> out;
    double max, sum;
    bool known = true, visited = false;
    std::vector<double> shares = {};  // O of column sums, never divided
  };
  struct Part {  // the keys of one call
    Index first, count;
  };

  Spot spot_of_query(const RowPlace& row, Index column) const;
  Spot spot_of_key(const RowPlace& row, const Part& part, Index key, Index column) const;
  KeySpot key_spot(const RowPlace& row, const Part& part, Index key) const;
  double score(const AttentionLaw& law, const RowPlace& row, const Part& part, Index key, bool& known) const;
  State begun(const AttentionLaw& law, const State* before) const;
  void add_part(const AttentionLaw& law, const RowPlace& row, const Part& part, State& state) const;
  State state_of(const AttentionLaw& law, const RowPlace& row, const State* before) const;
  bool same_as_claim(const AttentionLaw& law, const RowPlace& row, const State& state) const;
  bool explains_in_order(const AttentionLaw& law) const;
  bool explains_states(const AttentionLaw& law) const;
  bool explains_memory(const AttentionLaw& law) const;
  bool wrong_row(const RowPlace& row) const;

  const Evidence& e_;
  std::vector<Part> parts_;
  std::vector<RowPlace> rows_;                   // wrong ones first
  std::size_t wrong_ = 0;                        // number of wrong ones
  std::vector<std::pair<Index, Index>> ranges_;  // visible range of each row, over all keys
  std::vector<double> column_max_, column_sum_;  // [batch, heads, keys]
  std::vector<double> largest_, total_;          // [batch, heads]
};

/// Why an answer of one device is wrong: one or two mistakes of a program; the likeliest first.
std::vector<Cause> causes_of_program(const Evidence& evidence);

}  // namespace ringcraft::verify
