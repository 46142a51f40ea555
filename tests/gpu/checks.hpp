#pragma once
/// @file
/// What CudaEngine's forward pass promises, check by check.

#include "runner.hpp"
#include "verify/cases.hpp"

namespace ringcraft::kernels {

/// Runs all checks. kBrief: a tenth of the general cases, a seventh of the kernel's own; for tools that slow
/// a GPU down.
void run_checks(Runner& runner, verify::CaseSet set);

}  // namespace ringcraft::kernels
