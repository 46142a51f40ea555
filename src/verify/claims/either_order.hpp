#pragma once
/// @file
/// Picks between two orders of axes, where the shapes of the inputs allow both, by judging the claim under
/// each.

#include <functional>

#include "verify/claims/claim.hpp"
#include "verify/claims/forms/input_forms.hpp"

namespace ringcraft::verify {

/// The verdict on a claim: `read` reads its inputs, and `judge` judges by them. The second order is taken if
/// the claim cannot be read in the first (`judge` throws Error), or is clearly less wrong in the second. A
/// claim that is right only under an order with more heads than tokens may be attention over the wrong axis:
/// that throws Error.
ClaimVerdict judge_in_either_order(const std::function<FormedInputs(TakeOrder)>& read,
                                   const std::function<ClaimVerdict(const FormedInputs&)>& judge);

}  // namespace ringcraft::verify
