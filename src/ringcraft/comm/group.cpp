// Translates the ranks of a group.
#include "ringcraft/comm/group.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

// The place of the world's own rank among the members.
int place_in(const Communicator& world, const std::vector<int>& members) {
  std::vector<int> sorted = members;
  std::ranges::sort(sorted);
  const bool distinct = std::ranges::adjacent_find(sorted) == sorted.end();
  const bool there = sorted.empty() || (sorted.front() >= 0 && sorted.back() < world.world_size());
  const auto own = std::ranges::find(members, world.rank());
  if (!distinct || !there || own == members.end()) {
    std::string listed;
    for (const int member : members) listed += (listed.empty() ? "" : ", ") + std::to_string(member);
    throw Error("group of rank " + std::to_string(world.rank()),
                "distinct ranks of 0 to " + std::to_string(world.world_size() - 1) + ", this one included",
                listed.empty() ? "none" : listed, "give every member the same list, in the same order");
  }
  return static_cast<int>(own - members.begin());
}

}  // namespace

Group::Group(Communicator& world, std::vector<int> members)
    : Communicator(place_in(world, members), static_cast<int>(members.size()), world.space()),
      world_(world),
      members_(std::move(members)) {}

int Group::world_from_group(int rank) const {
  if (rank < 0 || rank >= world_size())
    throw Error("rank of a group", "0 to " + std::to_string(world_size() - 1), std::to_string(rank),
                "ranks of a group are counted from 0, in the order of its list");
  return members_[static_cast<std::size_t>(rank)];
}

std::uint64_t Group::do_start(std::span<const Op> ops) {
  std::vector<Op> translated(ops.begin(), ops.end());
  for (Op& op : translated) op.peer = world_from_group(op.peer);
  in_flight_.emplace(next_ticket_, world_.start(translated));
  return next_ticket_++;
}

void Group::do_wait(std::uint64_t ticket) {
  const auto found = in_flight_.find(ticket);
  if (found == in_flight_.end()) return;  // given up
  Pending pending = std::move(found->second);
  in_flight_.erase(found);
  pending.wait();
}

// Dropped while an exception unwinds, they end the run of the other ranks.
void Group::do_give_up() { in_flight_.clear(); }

}  // namespace ringcraft
