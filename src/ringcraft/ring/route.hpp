#pragma once
/// @file
/// Route: the way of KV blocks, and of the sums of their gradients, past one rank of a ring. A block goes as
/// far as its reach (problem/reach.hpp) and no further; beyond it messages are empty. Every rank makes
/// hops(problem) exchanges nevertheless, and all know every route without a message.

#include <memory>
#include <vector>

#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

/// The blocks that one rank meets, step by step, and what it sends and receives in the exchange after each.
/// In the forward pass, and in schedule forward, block s begins on rank s and walks to rank s + reach(s); its
/// sum goes from there straight home. In schedule reversed block and sum begin on rank s + reach(s), and walk
/// home to rank s. The block that begins in step 0 is the one that the forward pass held last; a block of
/// shorter reach is kept by its owner, which sends it straight to where it begins.
class Route {
 public:
  /// The route past `rank`, for a block of each rank that goes `reaches` ranks on, at most `exchanges`.
  Route(const Problem& problem, std::shared_ptr<const std::vector<int>> reaches, int rank, Schedule schedule);
  /// The same with the reaches of the problem.
  Route(const Problem& problem, int rank, Schedule schedule);

  /// The largest reach: exchanges between the steps 0 to `exchanges`.
  int exchanges() const { return exchanges_; }
  /// The rank that blocks go to.
  int next() const { return modulo(rank_ + direction_); }
  /// The rank that blocks come from.
  int previous() const { return modulo(rank_ - direction_); }
  /// The rank at the end of the own block's reach; the next one if no other rank needs it.
  int last_rank() const;

  /// The owner of the block of this step, whether it comes this far or not.
  int source(int step) const { return modulo(rank_ - distance(step)); }
  /// Whether the block of this step comes this far.
  bool here(int step) const;
  /// Rows of the block that this rank holds at this step; 0 if it does not come this far, and after the last.
  Index rows(int step) const { return step <= exchanges_ && here(step) ? sharding_.rows(source(step)) : 0; }

  /// Whether the block of this step goes on to the next rank while it is computed with.
  bool onward(int step) const;
  /// Rows that arrive during the step before this one.
  Index rows_arriving(int step) const;
  /// The rank that they come from.
  int comes_from(int step) const;
  /// Schedule reversed: whether the owner keeps its block, because the ring does not bring it home.
  bool keeps_own() const { return reversed() && reach(rank_) < exchanges_; }
  /// Whether the block of this step is the one that its owner keeps.
  bool is_kept(int step) const { return keeps_own() && distance(step) == 0; }
  /// Whether the kept block leaves for last_rank() during this step, to begin there in the next.
  bool enters(int step) const;

  /// Whether no sum has arrived for this step's block: it begins here, with this rank's part.
  bool begins(int step) const;
  /// Whether the sum leaves after this step.
  bool sum_leaves(int step) const;
  /// The rank that it goes to: the next one, or the owner if it is complete.
  int sum_to(int step) const;
  /// Rows of the sum that arrives after the step before this one, for this step.
  Index sum_rows_arriving(int step) const { return begins(step) ? 0 : rows(step); }
  /// Schedule forward: whether the own sum, to which no other rank adds, is put aside after this step.
  bool stays(int step) const { return waits_at_home() && step == 0 && reach(rank_) == 0; }
  /// Schedule forward: whether the complete sum of the own block comes home after this step, from
  /// last_rank().
  bool returns(int step) const { return !reversed() && step == reach(rank_) && step > 0; }
  /// Whether the own sum is complete before the last exchange, and so waits at home.
  bool waits_at_home() const { return !reversed() && reach(rank_) < exchanges_; }

 private:
  bool reversed() const { return direction_ < 0; }
  int modulo(int r) const { return (r % world_size_ + world_size_) % world_size_; }
  int reach(int source) const { return (*reaches_)[static_cast<std::size_t>(source)]; }
  // Ranks between the block of this step and its owner.
  int distance(int step) const { return reversed() ? exchanges_ - step : step; }

  Sharding sharding_;
  std::shared_ptr<const std::vector<int>> reaches_;
  int world_size_, rank_, direction_, exchanges_;
};

}  // namespace ringcraft
