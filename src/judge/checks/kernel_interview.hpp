#pragma once
/// @file
/// Questions to a failed kernel, for its diagnosis: single elements of one tile, and problems with several
/// tiles of rows and of keys.

#include "judge/checks/gradient_trial.hpp"
#include "judge/checks/kernel_checks.hpp"
#include "judge/checks/merge_trial.hpp"

namespace ringcraft::judge {

/// Of a forward rung on tiles of 64 rows and 64 keys.
verify::Exhibit tile_interview(const Trial& trial, const KernelRung& rung);

/// Of backward kernels on tiles of 32 rows and 32 keys.
verify::Exhibit gradient_interview(const Trial& trial, const GradientCall& call);

/// Of the kernels that merge partial results.
verify::Exhibit merge_interview(const Trial& trial, const std::vector<MergeKernelCall>& kernels);

}  // namespace ringcraft::judge
