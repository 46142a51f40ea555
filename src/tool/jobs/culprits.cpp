// Finds the ranks to blame among the records of a job.
#include "tool/jobs/culprits.hpp"

#include <algorithm>

#include "ringcraft/core/shown.hpp"

namespace ringcraft::tool {
namespace {

using Events = std::vector<RankEvent>;

// The ranks for which this holds.
template <class Holds>
std::vector<int> ranks_that(const Records& records, const Holds& holds) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < records.size(); ++rank)
    if (holds(records[rank])) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

std::vector<int> ranks_at(const Records& records, const Events& events) {
  return ranks_that(records,
                    [&](const RankRecord& its) { return std::ranges::count(events, its.last) != 0; });
}

}  // namespace

bool any(const Records& records, RankEvent event) { return !ranks_at(records, {event}).empty(); }

bool has_joined(const Records& records) {
  return ranks_at(records, {RankEvent::kNone, RankEvent::kBegan}).size() < records.size();
}

std::string joining(const Records& records) {
  const std::size_t outside = ranks_at(records, {RankEvent::kBegan}).size();
  if (has_joined(records) && outside == 0) return {};
  const std::size_t here = records.size() - ranks_at(records, {RankEvent::kNone}).size();
  return "waiting for " + std::to_string(records.size()) + " ranks: " + std::to_string(here) +
         " have started, " + std::to_string(here - outside) + " have joined";
}

std::vector<int> laggards(const Records& records) {
  const std::vector<int> stopped =
      ranks_that(records, [](const RankRecord& its) { return its.process > 0 && is_stopped(its.process); });
  if (!stopped.empty()) return stopped;
  const bool written = records[0].last == RankEvent::kDone || records[0].last == RankEvent::kEnded;
  std::vector<Events> suspects;  // the first that holds a rank
  if (!has_joined(records))
    suspects = {{RankEvent::kNone}, {RankEvent::kBegan}};
  else if (!written)
    suspects = {{RankEvent::kBegan}};
  else
    suspects = {{RankEvent::kBegan, RankEvent::kJoined}, {RankEvent::kNone}, {RankEvent::kDone}};
  for (const Events& events : suspects)
    if (std::vector<int> late = ranks_at(records, events); !late.empty()) return late;
  return {};
}

std::string silent_ranks(const Records& records) {
  const std::vector<int> far = ranks_at(records, {RankEvent::kNone});
  if (!has_joined(records)) {
    const std::vector<int> absent = ranks_at(records, {RankEvent::kNone, RankEvent::kBegan});
    return named(absent) + " of the job, before it joined";
  }
  // Some of these, joined or not, ended because of the others.
  const std::vector<int> near = ranks_at(records, {RankEvent::kBegan, RankEvent::kJoined, RankEvent::kDone});
  if (near.empty() && far.empty()) return "mpirun";
  const std::string elsewhere = (far.size() > 1 ? "one of " : "") + named(far) + " on other hosts";
  return (near.empty() ? elsewhere : named(near) + (far.empty() ? " of the job" : ", or " + elsewhere)) +
         ", without a message";
}

std::string named(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + listed(ranks);
}

}  // namespace ringcraft::tool
