#pragma once
/// @file
/// Where a student's program was when it ended by a signal of its own making.

namespace ringcraft::judge {

/// From now on the judge is told where in the program the calls stand that led to a crash, or to abort(),
/// before the signal ends the program as ever.
void report_crashes();

}  // namespace ringcraft::judge
