#pragma once
/// @file
/// A softmax of one row in three passes (a number to subtract, a sum, the weights), and the mistakes at each
/// of their places, as data; internal to the harness.

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "verify/diagnose/exhibit.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

using Scores = std::span<const double>;
/// The score of a hidden key.
constexpr double kUnseenScore = -std::numeric_limits<double>::infinity();

/// The number subtracted from the scores of a row.
struct SoftmaxReference {
  std::string id, words;
  std::function<double(std::span<const double>)> of;
};

/// The argument of an exponential.
struct SoftmaxArgument {
  double score, reference, so_far;  ///< so_far: the largest score up to this one
};
/// The value of an exponential, as a weight and in the sum.
struct SoftmaxTerm {
  std::string id, words;
  std::function<double(const SoftmaxArgument&)> weight, summand;
};

/// How often each score counts in the sum.
struct SoftmaxCount {
  std::string id, words;
  std::function<std::vector<double>(std::span<const double>)> of;
  bool is_range;  ///< about the bounds of a loop, which other loops may share
};

/// Sums of one row, at one of its scores.
struct SoftmaxSums {
  double all, so_far, before, squares;    ///< of the terms
  double largest, last, own;              ///< terms
  double reference, scores, count, seen;  ///< m, the scores added up, how many there are, and visible ones
};
/// The divisor of a weight.
struct SoftmaxDivisor {
  const char *id, *words;
  double (*of)(const SoftmaxSums& sums);
};

/// The value that is rounded to float.
struct SoftmaxRounding {
  const char *id, *words;
  bool scores, differences, terms, sum, weights;
};

/// If scores and weights share memory: the value read as the score when the weights are computed.
struct SoftmaxReread {
  const char *id, *words;
  double (*of)(double score, double reference, double sum);
  bool sum_anew = false;  ///< l is computed for each weight, from what memory then holds; m gives the same
};

/// The weights of a row without a visible score.
struct SoftmaxNothing {
  const char *id, *words;
  double (*of)(std::size_t place, std::size_t count);  ///< null: determined by the surrounding code
};

/// Treatment of a row in which nothing can be subtracted, or whose sum is 0, and of scores that a loop skips.
/// These are seldom the mistake itself, and follow from how the surrounding code is written.
struct SoftmaxGuards {
  enum class Nothing : std::uint8_t { kSubtractsZero, kNone, kZeros } nothing{};
  bool sum = true;  ///< never divides by 0
  /// Other passes that skip the scores that the sum skips: none (kSumOnly), or the maximum too, with weights
  /// that are zero, unwritten, or computed as usual (kWeighed).
  enum class Outside : std::uint8_t { kSumOnly, kZero, kUnwritten, kWeighed } outside{};
};

/// One way of computing a softmax; the first words of each place are right.
struct SoftmaxLaw {
  const SoftmaxReference* reference;
  const SoftmaxTerm* term;
  const SoftmaxCount* count;
  const SoftmaxDivisor* divisor;
  const SoftmaxRounding* rounding;
  const SoftmaxReread* reread;
  const SoftmaxNothing* nothing;
};

/// The words of each place, the right ones first.
const std::vector<SoftmaxReference>& softmax_references();
const std::vector<SoftmaxTerm>& softmax_terms();       ///< see above
const std::vector<SoftmaxCount>& softmax_counts();     ///< see above
std::span<const SoftmaxDivisor> softmax_divisors();    ///< see above
std::span<const SoftmaxRounding> softmax_roundings();  ///< see above
std::span<const SoftmaxReread> softmax_rereads();      ///< see above
std::span<const SoftmaxNothing> softmax_nothings();    ///< see above

/// The weights of a row.
std::vector<double> softmax_weights(const SoftmaxLaw& law, const SoftmaxGuards& guards, const ScoreScan& row);

/// Causes that explain these rows of a plain softmax: one mistake, or `mistakes` at once. The most
/// informative rows come first. Rows `in_place`, whose weights overwrite their scores, need not be explained:
/// mistakes in them alone are reported, too.
std::vector<Cause> causes_of_softmax(const std::vector<const ScoreScan*>& rows,
                                     const std::vector<const ScoreScan*>& in_place, int mistakes);
/// The cause if weights are right to the digits of float and not beyond, and the value that was rounded.
std::vector<Cause> causes_of_float_softmax(const std::vector<const ScoreScan*>& rows);
/// The cause if all weights are right except that small ones are 0.
std::vector<Cause> causes_of_dropped_weights(const std::vector<const ScoreScan*>& rows);

}  // namespace ringcraft::verify
