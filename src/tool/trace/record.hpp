#pragma once
// Traces on their way into a file, and the verdict on their schedule.

#include <string>

#include "verify/schedule/trace_file.hpp"

namespace ringcraft::tool {

// Proves the schedule of a run and writes its trace, the value of --trace. Returns the proof.
verify::ScheduleProof write_trace(const std::string& path, const verify::TracedRun& run);

// "schedule: proved: ..." in one line, or a line for each violation, of the first twenty.
std::string verdict_text(const verify::ScheduleProof& proof, const verify::ScheduleGoal& goal);

}  // namespace ringcraft::tool
