#pragma once
// The trace of a job whose ranks are processes: each records its own events on its own clock.

#include <string>

#include "ringcraft/comm/trace.hpp"
#include "ringcraft/problem/problem.hpp"
#include "tool/jobs/meeting.hpp"

namespace ringcraft::tool {

// The name that this host has until it boots again, for processes that share its clock; empty if it tells
// none.
std::string host_boot();

// Collective. On rank 0 `trace` gets the events of all ranks, as if one clock had measured them: the first
// event begins at 0. Ranks of one `host` share a clock; the others read theirs between two words of all ranks
// to each other. Returns, on rank 0, the seconds by which the clocks of two ranks may still differ; on the
// other ranks, which keep their trace, 0.
// The method deals heads among `degree` neighbours; 1: among none.
double gather_trace(Meeting& meeting, const Problem& problem, Trace& trace,
                    const std::string& host = host_boot(), int degree = 1);

}  // namespace ringcraft::tool
