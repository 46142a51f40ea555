#pragma once
// The trace of a job whose ranks are processes: each records its own events on its own clock.

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/comm/trace.hpp"
#include "ringcraft/problem/problem.hpp"

namespace ringcraft::tool {

// Collective, over a communicator of host memory that records nothing. On rank 0 `trace` gets the events of
// all ranks, as if one clock had measured them: the first event begins at 0. Each rank's clock is compared
// with that of rank 0 by short messages to and fro. Returns, on rank 0, the seconds by which the clocks of
// two ranks may still differ; on the other ranks, which keep their trace, 0.
double gather_trace(Communicator& comm, const Problem& problem, Trace& trace);

}  // namespace ringcraft::tool
