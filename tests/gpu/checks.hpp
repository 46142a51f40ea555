#pragma once
/// @file
/// Promises of the kernels and of CudaEngine, check by check. kBrief: a tenth of the general cases, a seventh
/// of the kernels' own; for tools that slow a GPU down, and for the CPU.

#include "runner.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::kernels {

/// The subject of this test program.
void run_checks(Runner& runner, verify::CaseSet set);
/// Times the kernels that it checks; a measurement, not a promise: it fails only if a kernel does.
void time_kernels(Runner& runner);

/// Memory, the small kernels around attention, refusals.
void run_engine_checks(Runner& runner);
/// The merge kernels.
void run_merge_checks(Runner& runner);

}  // namespace ringcraft::kernels
