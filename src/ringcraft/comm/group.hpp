#pragma once
/// @file
/// Group: some ranks of a communicator as a communicator of their own. It translates ranks and does nothing
/// else: bytes, traces, virtual clocks and reports of deadlocks are those of the communicator below, so they
/// name its ranks.

#include <map>
#include <vector>

#include "ringcraft/comm/communicator.hpp"

namespace ringcraft {

/// One rank's end of a group. Messages of one pair of ranks stay in order, whether they go through the group
/// or past it.
class Group final : public Communicator {
 public:
  /// Ranks `members` of `world`, in the order of the group; this rank is one of them. Every member makes the
  /// same group. The communicator outlives it. Throws Error if a member is not a rank of `world`, occurs
  /// twice, or if this rank is not among them.
  Group(Communicator& world, std::vector<int> members);
  /// Gives up what is in flight, as the Pending of the members do.
  ~Group() override = default;

  /// The rank in the communicator below of this rank of the group. Throws Error for a rank that it has not.
  int world_from_group(int rank) const;
  /// That of the communicator below, so that computing through either advances one clock.
  double clock() override { return world_.clock(); }

 private:
  std::uint64_t do_start(std::span<const Op> ops) override;
  void do_wait(std::uint64_t ticket) override;
  void do_give_up() override;

  Communicator& world_;
  std::vector<int> members_;
  std::map<std::uint64_t, Pending> in_flight_;
  std::uint64_t next_ticket_ = 1;
};

}  // namespace ringcraft
