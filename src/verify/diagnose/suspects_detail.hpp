#pragma once
/// @file
/// The tables of mistakes of the forward pass, part by part; not for users of the harness.

#include "verify/diagnose/suspects.hpp"

namespace ringcraft::verify {

/// Of scores and heads.
std::vector<Suspect> score_suspects();
/// Of the mask.
std::vector<Suspect> mask_suspects();
/// Of what a rank has in hand.
std::vector<Suspect> ring_suspects();
/// Of the merge.
std::vector<Suspect> merge_suspects();

}  // namespace ringcraft::verify
