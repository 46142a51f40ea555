// Collects the exhibits of failed checks, and adds their most likely causes to the verdict.
#include "judge/verdict/diagnosis.hpp"

#include <algorithm>

#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::judge {

void explain(Verdict& verdict) {
  constexpr std::size_t kMostCauses = 3;
  const auto first =
      std::ranges::find(verdict.report.rows, verify::Status::kFailed, &verify::ReportRow::status);
  if (first == verdict.report.rows.end()) return;
  // A mistake of both instantiations is explained by double, whose numbers say more.
  const bool floats_only = std::ranges::all_of(verdict.outcomes, [](const Outcome& outcome) {
    return outcome.status != verify::Status::kFailed || outcome.precision == DType::kFloat32;
  });
  std::vector<verify::Exhibit> exhibits;
  std::vector<verify::Case> right;
  for (const Outcome& outcome : verdict.outcomes)
    right.insert(right.end(), outcome.right.begin(), outcome.right.end());
  for (const Outcome& outcome : verdict.outcomes)
    if ((outcome.precision == DType::kFloat32) == floats_only)
      exhibits.insert(exhibits.end(), outcome.exhibits.begin(), outcome.exhibits.end());
  // An exception, a crash or a race speaks for itself: numbers of other calls may be wrong for its reason.
  const char how = verdict.outcomes[static_cast<std::size_t>(first - verdict.report.rows.begin())].sign;
  if (how == sign::kThrew)
    std::erase_if(exhibits, [](const verify::Exhibit& exhibit) {
      return std::holds_alternative<verify::AttentionExhibit>(*exhibit);
    });
  for (verify::Cause& cause :
       floats_only ? verify::causes_in_floats(exhibits) : verify::causes_of(exhibits, right)) {
    if (floats_only) cause.sentence = "in float32 only: " + cause.sentence;
    if (first->causes.size() < kMostCauses &&
        std::ranges::find(first->causes, cause.id, &verify::Cause::id) == first->causes.end())
      first->causes.push_back(std::move(cause));
  }
  // A throw, a crash or a race needs no explanation: only numbers do.
  const bool numbers = how == sign::kValues || how == sign::kNoNumber;
  first->unexplained = numbers && !exhibits.empty() && first->causes.empty();
}

}  // namespace ringcraft::judge
