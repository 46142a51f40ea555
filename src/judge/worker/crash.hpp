#pragma once
/// @file
/// Reports the calls of a student's program when a signal that it caused ends it.

namespace ringcraft::judge {

/// From now on the judge gets the places of the calls that led to a crash, or to abort(), before the signal
/// ends the program as usual.
void report_crashes();

}  // namespace ringcraft::judge
