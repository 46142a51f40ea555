#pragma once
/// @file
/// Are the numbers of a claim those of a known mistake? A sample of rows decides which mistakes are worth a
/// second look, a larger one confirms them.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "verify/diagnose/suspects.hpp"
#include "verify/diagnose/twisted/twisted_ring.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::verify {

/// Which tensors are judged together.
enum class TensorGroup : std::uint8_t {
  kForward,   ///< out, lse
  kBackward,  ///< dq, dk, dv
};

/// Which group a tensor is of, by its name in an answer.
TensorGroup group_of(std::string_view tensor);

/// A part of the rows of out and lse; a negative number: all of them.
struct RowPart {
  int rank = -1;
  Index batch = -1, head = -1;

  bool is_all() const { return rank < 0 && batch < 0 && head < 0; }
};

/// What is judged: all tensors in float64, and how near two numbers of the claim's precision are the same.
struct Evidence {
  const BlockProblem& problem;
  const Arrangement& place;  ///< in which blocks the answer was computed
  const Problem* ring;       ///< where ranks share the tokens; null on one device
  const Inputs& inputs;      ///< float64
  const Answer& claim;       ///< float64; gradients may be empty; what is not there has the oracle's numbers
  const Oracle& oracle;      ///< of the same inputs
  const Comparison& comparison;
  DType precision;  ///< of the claim as it came
  std::array<bool, kAnswerNames.size()> there = {true, true, true, true,
                                                 true};  ///< tensors of the claim to look at
  RowPart part = {};                                     ///< the rows of out and lse to look at

  /// Whether a row of out and lse is of the part to look at.
  bool looks_at(const RowPlace& row) const;

  /// Whether the claim has this tensor; the others of `claim` are the oracle's.
  bool has(std::string_view name) const;
  /// Whether the claim has it, and a row of it is wrong.
  bool is_wrong(std::string_view name) const;

  /// How near two computations of an element are that agree: within unit * its element of units() + relative
  /// * its magnitude.
  struct Nearness {
    double unit, relative;
  };
  Nearness nearness() const;
  /// The oracle's scales, or for half types the standard deviations of rounding, which they are too blunt
  /// for.
  const Answer& units() const { return is_half(precision) ? oracle.deviation : oracle.scale; }
  /// The exponents of exp in the claim's precision.
  ExponentRange exponents() const;
};

/// Rows to look at: those of out, lse, dq, and those of dk, dv. Wrong ones come first.
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

/// A mistake beside a claim.
struct Match {
  const Suspect* suspect = nullptr;
  Fit fit = Fit::kNone;
  std::vector<std::string> tensors;  ///< the wrong tensors that it explains
  std::vector<int> ranks;            ///< for kSomeRanks: those that make the mistake
  Index hits = 0, rows = 0;          ///< rows of the sample that it gives, of those looked at
  Index told = 0;                    ///< wrong ones of them that are more than zeros or NaN
};

/// Compares what the twist gives with the claim.
Match match(const Evidence& evidence, const TwistedRing& ring, const Suspect& suspect, TensorGroup pass,
            const Sample& sample);

/// Whether two rows agree: every element near enough, and no number where there is none. `unit` has the row
/// of Evidence::units(). `no_key` says that `want` saw no key, for which people write zeros or NaN.
bool same_row(std::span<const double> got, std::span<const double> want, std::span<const double> unit,
              Evidence::Nearness nearness, bool no_key);

}  // namespace ringcraft::verify
