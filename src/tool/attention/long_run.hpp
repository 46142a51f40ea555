#pragma once
// The length of a run, known in advance: for its progress bar, warnings, and a refusal.

#include <string>

#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft::tool {

// The work of a rank, in products of visible pairs, as its engine counts it (BlockEngine::count_in).
Index work_of(const Problem& problem, int rank, Pass last);

// Says in advance why a run will take long whose ranks have little to compute and much to exchange.
void warn_of_exchanges(const Problem& problem);

// Throws Error if a trace of this problem would be too large to write, to draw and to prove.
void require_recordable(const Problem& problem);

// The size of a trace, about: that of a contiguous layout with a causal mask is a third smaller.
double trace_bytes(const Problem& problem, Pass last);

// A sentence about a trace that will be large; empty for any other.
std::string warning_of_trace(const Problem& problem, Pass last);

}  // namespace ringcraft::tool
