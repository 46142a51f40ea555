#pragma once
/// @file
/// What a kernel that has failed is asked for its diagnosis: single elements of one tile, and problems with
/// several tiles of rows and of keys.

#include "judge/checks/kernel_checks.hpp"

namespace ringcraft::judge {

/// Of a forward rung on tiles of 64 rows and 64 keys; null if all of it is right.
verify::Exhibit tile_interview(const Trial& trial, const KernelRung& rung);

}  // namespace ringcraft::judge
