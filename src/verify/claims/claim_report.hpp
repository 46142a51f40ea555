#pragma once
/// @file
/// The verdict on a claim, for people and for programs.

#include <string>

#include "verify/claims/claim.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// The report and the lines below it.
std::string text_of(const ClaimVerdict& verdict, Colour colour);

/// json_of(report) with more members: "rule": by which the claim was judged, "rows": as before, "judged":
/// [names], "not_judged": [{"tensor", "reason"}], "read": [{"tensor", "shape", "order", "documented",
/// "other", "rows", "padding"}], "files": {"count", "per_rank", "rows"}, "first": {"tensor", "batch", "head",
/// "position", "column", "rank", "row", "got", "want", "bound"} or null, "together": [GroupFault, see
/// compare.hpp], "place", "remarks": [sentences].
std::string json_of(const ClaimVerdict& verdict);

}  // namespace ringcraft::verify
