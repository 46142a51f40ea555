#pragma once
// The length of a run, known in advance: for its progress bar, warnings, and a refusal.

#include <string>
#include <vector>

#include "ringcraft/parallel/method.hpp"

namespace ringcraft::tool {

// [ranks]: the work of each, in products of visible pairs, as its engine counts it (BlockEngine::count_in).
std::vector<Index> work_of(const Method& method, const Problem& problem, const MethodOptions& options,
                           Pass last);

// Says in advance why a run will take long whose ranks have little to compute and much to exchange.
void warn_of_exchanges(const Method& method, const Problem& problem, const MethodOptions& options);

// The runs of neighbouring bytes that all ranks copy, about: each is written into a trace of copies.
Index copied_runs(const Method& method, const Problem& problem, const MethodOptions& options, Pass last);

// Throws Error if a trace of this problem would be too large to write, to draw and to prove.
void require_recordable(const char* flag, const Method& method, const Problem& problem,
                        const MethodOptions& options);

// The size of a trace, about.
double trace_bytes(const Method& method, const Problem& problem, const MethodOptions& options, Pass last);

// A sentence about a trace that will be large; empty for any other.
std::string warning_of_trace(const Method& method, const Problem& problem, const MethodOptions& options,
                             Pass last);

}  // namespace ringcraft::tool
