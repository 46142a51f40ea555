#pragma once
// The trace of a job whose ranks are processes: each records its own events on its own clock.

#include "ringcraft/comm/trace.hpp"
#include "ringcraft/problem/problem.hpp"
#include "tool/jobs/meeting.hpp"

namespace ringcraft::tool {

// Collective. On rank 0 `trace` gets the events of all ranks, as if one clock had measured them: the first
// event begins at 0. All clocks are read between two words of the ranks to each other. Returns, on rank 0,
// the seconds by which the clocks of two ranks may still differ; on the other ranks, which keep their trace,
// 0.
double gather_trace(Meeting& meeting, const Problem& problem, Trace& trace);

}  // namespace ringcraft::tool
