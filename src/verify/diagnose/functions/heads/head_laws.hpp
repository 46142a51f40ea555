#pragma once
/// @file
/// The two halves of a diagnosis of heads and rows dealt among neighbours.

#include <vector>

#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {

/// The formulas of the four numbers of dealt_heads.
std::vector<Cause> causes_of_heads(const std::vector<HeadDealExhibit::Heads>& asked);

/// Tokens that the numbers of joined_rows count: those of which ranks, in which order; and its steps.
std::vector<Cause> causes_of_rows(const HeadDealExhibit& exhibit);

}  // namespace ringcraft::verify
