// Refuses, proves and writes traces.
#include "tool/trace/record.hpp"

#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/reach.hpp"
#include "tool/terminal/output.hpp"

namespace ringcraft::tool {

void require_recordable(const Problem& problem) {
  constexpr Index kMost = 50'000;  // exchanges: forward and backward, each takes up to 8 kB of the file
  const Index exchanges = Index{problem.world_size} * hops(problem);
  if (exchanges > kMost)
    throw Error(
        "--trace", "at most " + std::to_string(kMost) + " exchanges, the number of ranks times that of hops",
        std::to_string(exchanges), "record it with fewer ranks, or with a --window that needs fewer hops");
}

verify::ScheduleProof write_trace(const std::string& path, const verify::TracedRun& run) {
  verify::ScheduleProof proof = verify::prove_schedule(run.trace, run.problem, run.goal());
  write_text("--trace", path, verify::trace_text(run, proof.replay));
  return proof;
}

std::string verdict_text(const verify::ScheduleProof& proof, const verify::ScheduleGoal& goal) {
  constexpr std::size_t kShown = 20;
  std::string text;
  if (proof.good()) {
    for (const verify::ReportRow& row : verify::report_of(proof, goal, "").rows)
      text += (text.empty() ? "schedule: proved: " : "; ") + row.claim;
    return text + "\n";
  }
  const std::size_t shown_here = std::min(proof.violations.size(), kShown);
  for (std::size_t i = 0; i < shown_here; ++i)
    text += "wrong schedule: " + proof.violations[i].sentence + "\n";
  if (shown_here < proof.violations.size())
    text += "and " + std::to_string(proof.violations.size() - shown_here) + " more\n";
  return text;
}

}  // namespace ringcraft::tool
