#pragma once
// A claim of someone's attention: judged, pictured and diagnosed, as one report.

#include <string>
#include <vector>

#include "tool/claim_rule.hpp"
#include "verify/diagnose.hpp"
#include "verify/report.hpp"

namespace ringcraft::tool {

// What is said about a claim.
struct ClaimVerdict {
  bool good = false;
  verify::Report report;
  std::vector<std::string> lines;  // below the report: the first wrong place, remarks, advice
};

// Judges the tensors of a claim: exactly if they are float64, else as rounding in its number type allows.
// `title` names the claim. Throws Error if some gradients are there and others not.
ClaimVerdict judge_claim(const Problem& problem, const StoredInputs& stored, verify::Answer claim,
                         verify::Ranks ranks, const PrecisionOptions& precision, const std::string& title);

// Advice if the inputs look like [batch, seqlen, heads, head_dim]; empty if they do not.
std::string advice_on_shape(const Problem& problem);

}  // namespace ringcraft::tool
