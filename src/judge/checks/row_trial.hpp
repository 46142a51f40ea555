#pragma once
/// @file
/// Exercises on one row of scores: rows of every kind, and their softmax, summed in long
/// double. Shared by the lessons on softmax and merge.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ringcraft/core/random.hpp"
#include "ringcraft/core/types.hpp"

namespace ringcraft::judge {

/// A row of scores with the name that verdicts call it by. -inf: a key that the row does not see.
struct ScoreRow {
  std::string name;
  std::vector<double> scores;
};

/// Softmax of a row. Scales are those of the harness's oracle: each weight also carries the condition
/// 1 + |score| of its score. Without a visible key: max = lse = -inf, and all else 0.
struct ExactSoftmax {
  long double max, sum, lse, lse_scale;
  std::vector<long double> weights, scales;  ///< per score
};

/// m, l, lse and weights of these scores, finite or -inf.
ExactSoftmax exact_softmax(std::span<const double> scores);

/// 12 rows of 2 to 40 moderate scores, of about 1.5 in size.
std::vector<ScoreRow> ordinary_rows(std::uint64_t seed);
/// Rows whose exponentials overflow: scores near 800, 1000, 20000 and 1e5, and a single one of 1e300.
std::vector<ScoreRow> high_rows(std::uint64_t seed);
/// Rows whose exponentials all vanish: scores near -800, -1000, -20000 and -1e5, and a single
/// one of -1e300.
std::vector<ScoreRow> low_rows(std::uint64_t seed);
/// Rows with gaps of 800 to 40000 between the scores, in every order.
std::vector<ScoreRow> gap_rows(std::uint64_t seed);
/// Rows of which some scores are -inf: the first, the last, one in the middle, most of them.
std::vector<ScoreRow> partly_seen_rows(std::uint64_t seed);

/// Rows that tell mistakes apart, for a diagnosis: low ones and high ones at many heights, a single high
/// score at every place of short rows and at some of long ones, magnitudes larger than the maximum.
std::vector<ScoreRow> telling_rows(std::uint64_t seed);

/// The same scores in another order.
ScoreRow shuffled(ScoreRow row, Random& random);

/// All rows above that have a visible score.
std::vector<ScoreRow> all_rows(std::uint64_t seed);
/// These, and rows beyond the exponentials of float, and one of 1000 scores.
std::vector<ScoreRow> rows_for_floats(std::uint64_t seed);
/// The rows as a function of this precision gets them: each score rounded to it. Rows with a score that is
/// too large for float are left out.
std::vector<ScoreRow> rounded(std::vector<ScoreRow> rows, DType precision);

/// The largest share of its scale that an element may be off by: 1e-12, and in float32 2^-19, which is 16
/// units in the last place. Correct code in double stays below 1.2e-15.
long double tolerance_of(DType precision);

/// Throws Wrong, "WHERE is GOT, and must be WANT", unless |got - want| <= tolerance_of(precision) of the
/// scale. Only -inf matches -inf; a NaN never passes.
void require_close(const std::string& where, double got, long double want, long double scale,
                   DType precision = DType::kFloat64);

/// Calls `look` for each of these rows of a tensor; it throws Wrong for a wrong row. Rethrows the first, with
/// a map of all rows; `tensor` is their name in the map.
void require_each(const std::string& tensor, Index rows, const std::function<void(Index)>& look);

}  // namespace ringcraft::judge
