// Proves and writes traces.
#include "tool/trace/record.hpp"

#include <algorithm>

#include "tool/terminal/output.hpp"

namespace ringcraft::tool {

verify::ScheduleProof write_trace(const std::string& path, const verify::TracedRun& run) {
  verify::ScheduleProof proof = verify::prove_run(run);
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
