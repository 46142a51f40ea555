#pragma once
/// @file
/// The tables of mistakes of the forward pass, by topic; internal to the harness.

#include "verify/diagnose/suspects.hpp"

namespace ringcraft::verify {

/// Mistakes of scores and heads.
std::vector<Suspect> score_suspects();
/// Mistakes of the mask.
std::vector<Suspect> mask_suspects();
/// Mistakes of the blocks in hand.
std::vector<Suspect> ring_suspects();
/// Mistakes of the merge.
std::vector<Suspect> merge_suspects();

}  // namespace ringcraft::verify
