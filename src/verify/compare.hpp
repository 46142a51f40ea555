#pragma once
/// @file
/// Is this answer right? Every element of every tensor, against the oracle's value and scale. Every
/// comparison is written so that NaN fails it.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/oracle.hpp"

namespace ringcraft::verify {

/// One wrong element.
struct Difference {
  std::string tensor;  ///< "out", "lse", "dq", "dk" or "dv"
  Index batch = 0, head = 0;
  Position position = 0;  ///< global row
  Index column = 0;
  double got = 0, want = 0;
  double error = 0;  ///< |got - want|; NaN if `got` is no number
  double bound = 0;  ///< the largest error that passes
};

/// "dk, batch 0, head 1, position 17, column 3: got 0.5, expected 0.25 (error 0.25, allowed 1e-13)".
std::string described(const Difference& difference);

/// What was found in one tensor.
struct TensorComparison {
  std::string name;
  Index wrong = 0, total = 0;  ///< elements
  double worst = 0;            ///< largest error / scale; infinite if an element is NaN or infinite
  double worst_share = 0;      ///< largest error / bound: at most 1 if nothing is wrong
  double square_sum = 0;       ///< sum of (error / scale)^2
  std::map<Position, Difference>
      wrong_rows;  ///< the first wrong element of each wrong row, by global position
};

/// The verdict on an Answer.
struct Comparison {
  bool good = false;
  Index wrong = 0, total = 0;         ///< elements of all tensors
  double worst = 0;                   ///< largest error / scale of all tensors
  double worst_share = 0;             ///< largest error / bound of all tensors
  std::optional<Difference> first;    ///< first wrong element, in the order of tensors and elements
  std::optional<Difference> largest;  ///< wrong element with the largest error / scale
  double largest_over_scale = 0;      ///< that error / scale
  std::vector<TensorComparison> tensors;
  std::string complaint;  ///< why nothing could be compared: a tensor missing, misshapen; empty otherwise
};

/// Which tensors an answer must have.
enum class Expect : std::uint8_t {
  kAll,      ///< out, lse, and the gradients if the oracle has them
  kForward,  ///< out and lse; gradients are not looked at
  kPresent,  ///< whatever the answer has of them, at least one; what it has not is not counted
};

/// Exact mode, for double: right iff every element is finite and |got - want| <= 1e-12 scale + 1e-300; lse =
/// -inf must be met exactly. `got` may have any number type; it fails in any but float64 unless its numbers
/// happen to be exact.
Comparison compare_exact(const Answer& got, const Oracle& oracle, Expect expect = Expect::kAll);

/// The first thing wrong, for a person who debugs a ring.
struct FirstWrong {
  int rank = 0;
  Index row = 0;          ///< local row on that rank
  Difference difference;  ///< difference.position is the global position of the row
};

/// The lowest rank with a wrong row, there the first wrong tensor (out, lse, dq, dk, dv), there the first
/// local row. Nothing if no element is wrong.
std::optional<FirstWrong> first_wrong(const Comparison& comparison, const Sharding& sharding);

/// One sentence: "right: 1024 elements, largest error 3.1e-16 of its scale", the complaint, or the first
/// wrong element with its rank and local row.
std::string described(const Comparison& comparison, const Sharding& sharding);

/// The rule for answers in float32 or bfloat16. A subject is as good as plain dense attention in the same
/// precision:
///   (1) over all cases, the RMS of error / scale is at most 1.5 times that of dense, in each tensor;
///   (2) each element's error is at most 2 x dense's largest error in that tensor + 8 eps scale + tiny.
/// eps = 2^-23 (bfloat16: 2^-7), tiny = 1e-30. One FloatRule judges one subject over a table of cases.
class FloatRule {
 public:
  /// The number type whose rounding is allowed. Throws Error for float64, which has the exact rule.
  explicit FloatRule(DType precision);

  /// Judges one case by (2) and remembers it for (1). The oracle must be that of the rounded inputs; `dense`
  /// is a plain dense computation on them.
  Comparison add(const Answer& got, const Answer& dense, const Oracle& oracle, Expect expect = Expect::kAll);

  /// RMS of the subject's error / scale over RMS of dense's, over the cases so far, of one tensor (see
  /// kAnswerNames); 1 if neither has an error, NaN if the tensor was never judged.
  double rms_ratio(std::size_t tensor) const;
  /// The largest rms_ratio of all tensors judged.
  double worst_rms_ratio() const;
  /// Cases judged, and how many of them broke (2).
  Index cases() const { return cases_; }
  Index broken() const { return broken_; }
  /// Largest error / bound of rule (2) so far.
  double worst_share() const { return worst_share_; }
  /// Whether both rules hold for what was added; false if nothing was.
  bool good() const;

 private:
  struct Sum {
    double subject = 0, dense = 0;  // sums of (error / scale)^2
    Index elements = 0;
  };

  double eps_;  // of the precision
  std::array<Sum, kAnswerNames.size()> sums_;
  Index cases_ = 0, broken_ = 0;
  double worst_share_ = 0;
};

}  // namespace ringcraft::verify
