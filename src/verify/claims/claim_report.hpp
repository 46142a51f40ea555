#pragma once
/// @file
/// Renders the verdict on a claim as text for people and as JSON for programs.

#include <string>

#include "verify/claims/claim.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// The report, followed by the lines about judged tensors, readings and remarks.
std::string text_of(const ClaimVerdict& verdict, Colour colour);

/// json_of(report) with additional members: "rule": the rule of the judgement, "rows": unchanged, "judged":
/// [names], "not_judged": [{"tensor", "reason"}], "read": [{"tensor", "shape", "order", "documented",
/// "other", "rows", "padding"}], "files": {"count", "per_rank", "rows"}, "first": {"tensor", "batch", "head",
/// "position", "column", "rank", "row", "got", "want", "bound"} or null, "together": [GroupFault, see
/// compare.hpp], "place", "remarks": [sentences].
std::string json_of(const ClaimVerdict& verdict);

}  // namespace ringcraft::verify
