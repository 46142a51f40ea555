#pragma once
/// @file
/// Exhibits: what the failing check of an exercise leaves for a diagnosis, as data: what was asked, and what
/// came.

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "verify/diagnose/twisted/arrangement.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::verify {

/// An answer to one problem of attention, and in which blocks it was computed.
struct AttentionExhibit {
  BlockProblem problem;
  Arrangement place;
  std::optional<Problem> ring = {};  ///< where ranks share the tokens
  Inputs inputs;
  Answer claim;           ///< empty: a tensor that was not asked for; what was given is right
  Comparison comparison;  ///< of the claim with the oracle
  /// How its numbers were rounded: the type of the operands, and what follows. None: float64.
  std::optional<Rounding> rounding = {};
  DType precision = DType::kFloat64;  ///< see above
};

/// Partial results of some rows: (O, m, l) as merge has them.
struct PartialNumbers {
  std::vector<double> out;       ///< [rows, cols]
  std::vector<double> max, sum;  ///< [rows]
};

/// One merge: what went in, and what came out.
struct MergeExhibit {
  Index rows, cols;
  PartialNumbers acc, block, result;
};

/// An exhibit of any kind, that many may hold.
using Exhibit = std::shared_ptr<const std::variant<AttentionExhibit, MergeExhibit>>;

}  // namespace ringcraft::verify
