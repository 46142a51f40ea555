#pragma once
/// @file
/// Dense attention in which every step may be rounded to a number type, as other people's code does it, and
/// in which single things may be wrong: right and wrong claims for the rule for rounded answers.

#include <optional>
#include <vector>

#include "verify/oracle/tensors.hpp"

namespace ringcraft::verify {

/// The steps that are rounded to `type`; a wider type rounds nothing.
struct RoundedSteps {
  std::string name;
  DType type = DType::kBFloat16;
  bool scores = false;   ///< S, and P in dS, dP, delta: all that is kept between two steps
  bool weights = false;  ///< P and dS before they enter a product
  int blocks = 1;        ///< KV blocks; more than one: partial outputs are rounded, and merged by lse
  Index sum_rows = 0;  ///< gradients are rounded whenever so many rows or keys are added; 0: only at the end
};

/// A single mistake; everything else is right.
struct Mistake {
  std::string name;
  Index lost_first = 0, lost_count = 0;    ///< keys that are never seen
  Index twice_first = 0, twice_count = 0;  ///< keys that count twice
  bool no_delta = false;                   ///< dS = P dP
  int averaged = 0;                        ///< blocks whose outputs are averaged instead of merged
  Index stale_first = 0, stale_count = 0;  ///< keys whose values are those of the keys so many before
  Index lost_rows = 0, lost_keys = 0;      ///< the last rows give nothing to dk and dv of the first keys
  std::optional<Mask> mask;                ///< instead of the problem's
};

/// Attention of inputs in T (float or double), computed in T, results rounded to the type (not lse), in
/// tensors of T.
template <class T>
Answer rounded_attention(const Problem& problem, const Inputs& inputs, const RoundedSteps& steps,
                         const Mistake& mistake = {});

}  // namespace ringcraft::verify
