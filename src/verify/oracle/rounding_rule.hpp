#pragma once
/// @file
/// Judges answers in float32, bfloat16 or float16. Every error is measured by the standard deviation that
/// rounding gives its element (oracle.hpp), and judged alone and in groups: the errors of right code are
/// those of many small roundings, so their mean over a row, a head, a rank or a tensor falls as there are
/// more of them, and a mistake too small for any single number shows there. The bounds were measured on code
/// from several authors: docs/pages/rounding.md.

#include "verify/oracle/compare.hpp"

namespace ringcraft::verify {

/// The errors z = (got - want) / deviation of a group of rows, summed up; y = want / deviation.
struct ErrorSums {
  double squares = 0;  ///< of z
  double sum = 0;      ///< of z
  double along = 0;    ///< of z y
  double length = 0;   ///< of y^2
  Index elements = 0, rows = 0;

  ErrorSums& operator+=(const ErrorSums& other);
  double size() const;   ///< RMS of z
  double scale() const;  ///< a of the best fit got = (1 + a) want
  double shift() const;  ///< mean of z

  /// The largest values that pass, with r rows unlike each other: 2 + 6 / sqrt(r); unit / 4 + alike.factor +
  /// rounding.alike standard errors of `scale`, if all numbers of a row err together; 1/10 + rounding.alike /
  /// sqrt(r). Both standard errors are larger by what the rows of this tensor share.
  double most_size(const Alike& alike) const;
  double most_scale(const Rounding& rounding, const Alike& alike, const SharedErrors& shared) const;
  double most_shift(const Rounding& rounding, const Alike& alike, const SharedErrors& shared) const;
};

/// Judges one subject over one or more cases: each element within kElement deviations, each row, head, rank
/// and tensor of each case, and each tensor over all cases, within the bounds of ErrorSums.
class RoundingRule {
 public:
  /// An element passes within so many deviations (and 1e-30, where everything underflows).
  static constexpr double kElement = 12;

  /// Takes the Rounding that the oracles are made with.
  explicit RoundingRule(const Rounding& rounding) : rounding_(rounding) {}

  /// Judges one case. Groups of ranks are judged if a sharding is given. Throws Error if the oracle has no
  /// deviation.
  Comparison add(const Answer& got, const Oracle& oracle, Expect expect = Expect::kAll,
                 const Sharding* ranks = nullptr);

  /// Whether every case is right, and all of them together are; false if nothing was judged.
  bool good() const;
  /// The group over all cases that is wrong, although each case is right.
  std::optional<GroupFault> together() const;
  /// Cases judged, and how many of them are wrong by themselves.
  Index cases() const { return cases_; }
  Index broken() const { return broken_; }
  /// Largest error, or figure of a group, over its bound so far; that of all cases together included.
  double worst_share() const;
  /// RMS of error / deviation of one tensor (see kAnswerNames) over the cases so far; NaN if it was never
  /// judged.
  double size(std::size_t tensor) const;

 private:
  Rounding rounding_;
  std::array<ErrorSums, kAnswerNames.size()> sums_;
  Index cases_ = 0, broken_ = 0;
  double worst_share_ = 0;
  Alike alike_;  // maximum over all cases
};

}  // namespace ringcraft::verify
