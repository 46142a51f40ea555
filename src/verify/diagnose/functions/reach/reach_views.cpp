// Tables of who sees whom, under any reading of a problem.
#include "verify/diagnose/functions/reach/reach_views.hpp"

#include <algorithm>

namespace ringcraft::verify {

bool sees_any(const ShardSight& shards) {
  return std::ranges::any_of(shards.queries, [&](Position query) {
    const auto [lo, hi] = shards.interval(query);
    return std::ranges::any_of(shards.keys, [&, lo = lo, hi = hi](Position k) { return lo <= k && k < hi; });
  });
}

const SightTable& ReachView::table(const ReachReading& reading, const ReachReading& also,
                                   const SightWord& sight) const {
  const auto [place, is_new] = tables_.try_emplace({&reading, &also, &sight});
  if (!is_new) return place->second;
  Problem read = *problem_;
  reading.change(read);
  also.change(read);
  Problem dealt = read;  // by the right borders
  dealt.mask = problem_->mask;
  std::vector<std::vector<Position>> positions;
  for (int rank = 0; rank < ranks(); ++rank) positions.push_back(dealt.sharding().positions(rank));
  for (const auto& queries : positions)
    for (const auto& keys : positions) place->second.push_back(sight.sees({read, queries, keys}));
  return place->second;
}

}  // namespace ringcraft::verify
