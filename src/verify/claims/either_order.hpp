#pragma once
/// @file
/// Where the shapes of the inputs allow two orders of axes, the claim decides which of them is meant.

#include <functional>

#include "verify/claims/claim.hpp"
#include "verify/claims/forms/input_forms.hpp"

namespace ringcraft::verify {

/// The verdict on a claim whose inputs `read` reads and that `judge` judges by them. The second order is
/// taken if the claim cannot be read in the first (`judge` throws Error), or is clearly less wrong in the
/// second. Right only as more heads than tokens it may be attention over the wrong axis: that throws Error.
ClaimVerdict judge_in_either_order(const std::function<FormedInputs(TakeOrder)>& read,
                                   const std::function<ClaimVerdict(const FormedInputs&)>& judge);

}  // namespace ringcraft::verify
