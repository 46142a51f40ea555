// Why a kernel is wrong (see diagnose.hpp): first what one tile says, then what many of them do.
#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/kernels/fragments.hpp"
#include "verify/diagnose/kernels/gradient_walk.hpp"
#include "verify/diagnose/kernels/merge_walk.hpp"
#include "verify/diagnose/kernels/tile_walk.hpp"

namespace ringcraft::verify {

std::vector<Cause> causes_of(const KernelExhibit& exhibit) {
  if (const auto cause = cause_of_scores(exhibit.tiles)) return {*cause};
  if (const auto cause = cause_of_values(exhibit.tiles)) return {*cause};
  std::vector<const AttentionExhibit*> forward, backward;
  for (const AttentionExhibit& head : exhibit.heads) (head.claim.dq.empty() ? forward : backward).push_back(&head);
  if (const auto cause = cause_of_walk(forward)) return {*cause};
  if (const auto cause = cause_of_gradients(backward)) return {*cause};
  if (const auto cause = cause_of_merges(exhibit.merges)) return {*cause};
  for (const AttentionExhibit& head : exhibit.heads)
    if (std::vector<Cause> causes = causes_of(head); !causes.empty()) return causes;
  return {};
}

}  // namespace ringcraft::verify
