#pragma once
/// @file
/// Compares the numbers of a claim with those of a known mistake. A sample of rows decides which mistakes are
/// worth a second look, a larger one confirms them.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/suspects.hpp"
#include "verify/diagnose/twisted/twisted_ring.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::verify {

/// Tensors that are judged together.
enum class TensorGroup : std::uint8_t {
  kForward,   ///< out, lse
  kBackward,  ///< dq, dk, dv
};

/// The group of a tensor, by its name in an answer.
TensorGroup group_of(std::string_view tensor);

/// A part of the rows of out and lse; a negative number: all of them.
struct RowPart {
  int rank = -1;
  Index batch = -1, head = -1;

  bool is_all() const { return rank < 0 && batch < 0 && head < 0; }
};

/// The evidence: all tensors in float64, and the tolerance within which two numbers of the claim's precision
/// agree.
struct Evidence {
  const BlockProblem& problem;
  const Arrangement& place;  ///< the blocks in which the answer was computed
  const Problem* ring;       ///< if ranks share the tokens; null on one device
  const Inputs& inputs;      ///< float64
  const Answer& claim;       ///< float64; gradients may be empty; missing tensors have the oracle's numbers
  const Oracle& oracle;      ///< of the same inputs
  const Comparison& comparison;
  DType precision;  ///< of the original claim
  std::array<bool, kAnswerNames.size()> there = {true, true, true, true,
                                                 true};  ///< tensors of the claim to examine
  RowPart part = {};                                     ///< the rows of out and lse to examine
  NoNumbers no_numbers = NoNumbers::kTellNothing;        ///< see there
  std::vector<std::string> refuted = {};                 ///< ids of causes that it is not
  Poll poll = {};                                        ///< called before each row that is computed

  /// Lets the caller end the work.
  void tick() const {
    if (poll) poll();
  }

  bool is_refuted(const Cause& cause) const {
    return std::find(refuted.begin(), refuted.end(), cause.id) != refuted.end();
  }

  /// Whether a row of out and lse belongs to the part to examine.
  bool looks_at(const RowPlace& row) const;

  /// Whether the claim has this tensor; the others of `claim` are the oracle's.
  bool has(std::string_view name) const;
  /// Whether the claim has it, and a row of it is wrong.
  bool is_wrong(std::string_view name) const;

  /// Tolerance of two computations of one element: they agree within unit * its element of units() + relative
  /// * its magnitude.
  struct Nearness {
    double unit, relative;
  };
  Nearness nearness() const;
  /// The oracle's scales; for half types the standard deviations of rounding, because scales are too coarse
  /// for them.
  const Answer& units() const { return is_half(precision) ? oracle.deviation : oracle.scale; }
  /// The exponents of exp in the claim's precision.
  ExponentRange exponents() const;
};

/// Rows to compare: those of out, lse, dq, and those of dk, dv. Wrong ones come first.
struct Sample {
  std::vector<RowPlace> rows, kv_rows;
};

/// At most `wrong` wrong rows and `right` others of each kind of tensor, spread over the sequence and over
/// heads.
Sample sample_of(const Evidence& evidence, TensorGroup pass, Index wrong, Index right);

/// How well a mistake explains a claim.
enum class Fit : std::uint8_t {
  kNone,
  kSomeTensors,  ///< some of the wrong tensors, in all rows
  kSomeRanks,    ///< all tensors, if the mistake is made on some ranks alone
  kAll,
};

/// The comparison of a mistake with a claim.
struct Match {
  const Suspect* suspect = nullptr;
  Fit fit = Fit::kNone;
  std::vector<std::string> tensors;  ///< the wrong tensors that it explains
  std::vector<int> ranks;            ///< for kSomeRanks: those that make the mistake
  Index hits = 0, rows = 0;          ///< rows of the sample that it gives, of those compared
  Index told = 0;                    ///< wrong ones among them that are more than zeros or NaN
};

/// Compares the result of the twist with the claim.
Match match(const Evidence& evidence, const TwistedRing& ring, const Suspect& suspect, TensorGroup pass,
            const Sample& sample);

/// Whether this row of a tensor of the claim is the given one; `unit` is that tensor of Evidence::units().
bool is_claimed_row(const Evidence& evidence, const Buffer& claim, const Buffer& unit, const RowPlace& row,
                    std::span<const double> value, bool no_key = false);

/// Whether the claimed tensors of a pass are as close to the right numbers as a mistake must be: then any
/// mistake that changes no number would seem to explain them.
bool is_near_right(const Evidence& evidence, TensorGroup pass);

/// Whether two rows agree: every element within tolerance, and NaN or infinity where expected. `unit` has the
/// row of Evidence::units(). `no_key` says that `want` saw no key, for which code writes zeros or NaN.
bool same_row(std::span<const double> got, std::span<const double> want, std::span<const double> unit,
              Evidence::Nearness nearness, bool no_key);

}  // namespace ringcraft::verify
