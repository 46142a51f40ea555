// Explains a wrong kernel: first by the evidence of a single tile, then by that of many tiles.
#include <algorithm>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/kernels/fragments.hpp"
#include "verify/diagnose/kernels/gradient_walk.hpp"
#include "verify/diagnose/kernels/merge_walk.hpp"
#include "verify/diagnose/kernels/tile_walk.hpp"
#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

namespace {

// The cause if gradients that should accumulate onto other numbers are what they would be from 0.
std::optional<Cause> cause_of_stored(const std::vector<AttentionExhibit>& begun) {
  for (const AttentionExhibit& x : begun) {
    std::string stored;
    for (const TensorComparison& tensor : x.comparison.tensors)
      if (group_of(tensor.name) == TensorGroup::kBackward && tensor.wrong_rows.empty())
        stored += (stored.empty() ? "" : ", ") + tensor.name;
    if (!stored.empty())
      return Cause{"gradient-stored", stored + ": stored over what is there instead of being added to it",
                   "What does an earlier step of a ring leave in dq, dk and dv?"};
  }
  return {};
}

}  // namespace

std::vector<Cause> causes_of(const KernelExhibit& exhibit) {
  if (const auto cause = cause_of_scores(exhibit.tiles)) return {*cause};
  if (const auto cause = cause_of_values(exhibit.tiles)) return {*cause};
  std::vector<const AttentionExhibit*> forward, backward;
  for (const AttentionExhibit& head : exhibit.heads)
    (head.claim.dq.empty() ? forward : backward).push_back(&head);
  if (const auto cause = cause_of_walk(forward)) return {*cause};
  if (const auto cause = cause_of_gradients(backward)) return {*cause};
  if (const auto cause = cause_of_merges(exhibit.merges)) return {*cause};
  const bool right = std::ranges::all_of(backward, [](const auto* head) { return head->comparison.good; });
  if (right)
    if (const auto cause = cause_of_stored(exhibit.begun)) return {*cause};
  for (const AttentionExhibit& head : exhibit.heads) {
    std::vector<Cause> causes = causes_of(head);
    std::erase_if(causes, is_general);  // the failed checks say as much
    if (!causes.empty()) return causes;
  }
  return {};
}

}  // namespace ringcraft::verify
