// Explains wrong ledgers of work: compares the table with the problem, and the figures with the table.
#include <algorithm>
#include <iterator>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/work/work_ledger.hpp"

namespace ringcraft::verify {

std::vector<Cause> causes_of(const WorkExhibit& x) {
  std::vector<LedgerView> ledgers;
  for (const auto& [problem, work] : x.ledgers) {
    LedgerView& view = ledgers.emplace_back(LedgerView{&problem, &work, {}, {}});
    for (int t = 0, last = hops(problem); t <= last; ++t) {
      std::vector<Index>& step = view.right.emplace_back();
      for (int rank = 0; rank < problem.world_size; ++rank)
        step.push_back(
            key_ranges(problem, rank, (rank - t + problem.world_size) % problem.world_size).pairs());
    }
    const bool whole = std::ranges::all_of(work.pairs, [&problem = problem](const auto& step) {
      return static_cast<int>(step.size()) == problem.world_size;
    });
    view.table = whole ? work.pairs : view.right;
  }
  if (ledgers.empty()) return {};
  std::vector<Cause> causes = causes_of_table(ledgers);
  std::ranges::move(causes_of_figures(ledgers), std::back_inserter(causes));
  return causes;
}

}  // namespace ringcraft::verify
