#pragma once
/// @file
/// Attention of one device as a program with wrong places in it: where it looks for q, k, v and out, which
/// columns its products and which keys its loops run over, and what its softmax subtracts and divides by
/// (address.hpp has the words). Where nothing is known of a number, a place behind the end of a tensor,
/// nothing is said of its row.

#include <optional>
#include <vector>

#include "verify/diagnose/match.hpp"
#include "verify/diagnose/tiles/address.hpp"

namespace ringcraft::verify {

/// What a wrong softmax does.
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
  kSumGoesOn,        ///< l begins with that of the row before
  kOutGoesOn,        ///< O begins with that of the row before, undivided
  kQuotientGoesOn,   ///< O begins with out of the row before
  kBothGoOn,         ///< l and O do
  kMaximumGoesOn,    ///< m begins with that of the row before
  kAllGoOn,          ///< m, l and O do
  kScoreGoesOn,      ///< the product of a key begins with that of the key before
  kSumSoFar,         ///< weights are divided by the sum up to their key
  kMaximumSoFar,     ///< weights are relative to the maximum so far, and do not follow when it grows
  kSquares,          ///< divided by the root of the sum of squares
  kFloatScores,      ///< scores are rounded to float32
  kFloatWeights,     ///< weights are rounded to float32
  kFloatBoth,        ///< both are
  kFloatShares,      ///< weights are divided by l and rounded to float32 then
};

/// Words for one of them.
struct SoftmaxWord {
  const char *id, *words, *question;
  SoftmaxSlip slip = SoftmaxSlip::kNone;
  double number = 0;  ///< see SoftmaxSlip
};

/// What is wrong in a program; null: right.
struct AttentionLaw {
  const AddressWord *query = nullptr, *key = nullptr, *value = nullptr, *out = nullptr;
  const ColumnWord* columns = nullptr;
  const KeyWord* keys = nullptr;
  unsigned loops = 7;  ///< of keys: the loop of the maximum (1), of the sum (2), of the values (4)
  const SoftmaxWord* softmax = nullptr;
};

/// A program on the inputs of a claim.
class AttentionProgram {
 public:
  /// The evidence must outlive it.
  explicit AttentionProgram(const Evidence& evidence);

  /// Whether it gives every row of which something is known, and among these enough of the wrong ones.
  bool explains(const AttentionLaw& law) const;
  /// Whether there are rows enough to tell two mistakes at once.
  bool tells_pairs() const;
  /// Multiplications of one row.
  double work_of_row() const;

 private:
  struct State {  // of one row
    std::vector<double> out;
    double max, sum;
    bool known = true, visited = false;
    std::vector<double> shares = {};  // O of column sums, which nobody divides
  };
  struct Part {  // the keys that one call gets
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
  std::size_t wrong_ = 0;                        // how many of them are
  std::vector<std::pair<Index, Index>> ranges_;  // what each row sees, of all keys
  std::vector<double> column_max_, column_sum_;  // [batch, heads, keys]
  std::vector<double> largest_, total_;          // [batch, heads]
};

/// Why an answer of one device is wrong: one place, or two, where a program goes wrong; the likeliest first.
std::vector<Cause> causes_of_program(const Evidence& evidence);

}  // namespace ringcraft::verify
