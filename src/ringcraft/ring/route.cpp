// The way of blocks and sums past one rank, from the distance between the block of a step and its owner.
#include "ringcraft/ring/route.hpp"

#include <algorithm>
#include <utility>

namespace ringcraft {

Route::Route(const Problem& problem, std::shared_ptr<const std::vector<int>> reaches, int rank,
             Schedule schedule)
    : sharding_(problem.sharding()),
      reaches_(std::move(reaches)),
      world_size_(problem.world_size),
      rank_(rank),
      direction_(schedule == Schedule::kForward ? 1 : -1),
      exchanges_(*std::max_element(reaches_->begin(), reaches_->end())) {}

Route::Route(const Problem& problem, int rank, Schedule schedule)
    : Route(problem, shared_reaches(problem), rank, schedule) {}

int Route::last_rank() const { return modulo(rank_ + std::max(1, reach(rank_))); }

bool Route::here(int step) const { return distance(step) <= reach(source(step)); }

bool Route::onward(int step) const {
  const int d = distance(step), end = reach(source(step));
  if (!reversed()) return d < end;
  return d <= end && (d > 1 || (d == 1 && end == exchanges_));  // a kept block is at home already
}

Index Route::rows_arriving(int step) const { return step == 0 || is_kept(step) ? 0 : rows(step); }

int Route::comes_from(int step) const {
  const bool straight = reversed() && step > 0 && distance(step) > 0 && distance(step) == reach(source(step));
  return straight ? source(step) : previous();
}

bool Route::enters(int step) const {
  return keeps_own() && reach(rank_) > 0 && distance(step + 1) == reach(rank_);
}

bool Route::begins(int step) const {
  return step == 0 || (reversed() && distance(step) == reach(source(step)));
}

bool Route::sum_leaves(int step) const {
  return here(step) && (distance(step) > 0 || (!reversed() && reach(rank_) > 0));
}

int Route::sum_to(int step) const {
  const bool home = !reversed() && distance(step) > 0 && distance(step) == reach(source(step));
  return home ? source(step) : next();
}

}  // namespace ringcraft
