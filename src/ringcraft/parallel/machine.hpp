#pragma once
/// @file
/// Machine: the hardware of a simulation, as data. Ranks are numbered node by node; two
/// ranks of one node have the fast link, all others the slow one.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ringcraft/comm/switchboard.hpp"
#include "ringcraft/ring/timed_ring.hpp"

namespace ringcraft {

/// A link, in one direction.
struct LinkSpeed {
  double latency = 0;    ///< seconds of a message, however short
  double bandwidth = 0;  ///< bytes per second

  static auto fields(auto& self) { return std::tie(self.latency, self.bandwidth); }
  friend bool operator==(const LinkSpeed&, const LinkSpeed&) = default;
};

/// Two ranks whose messages take longer, in both directions.
struct SlowLink {
  int a;          ///< one rank
  int b;          ///< the other
  double factor;  ///< the bandwidth is divided by this
};

/// A rank that computes more slowly.
struct SlowRank {
  int rank;       ///< which
  double factor;  ///< computing takes so many times as long
};

/// A cluster of equal nodes.
struct Machine {
  std::string name;           ///< for people
  int ranks_per_node = 8;     ///< neighbours in rank that share a node
  double peak_flops = 0;      ///< FLOP per second of a rank's matrix units
  double efficiency = 1;      ///< the share of it that attention reaches, above 0 and at most 1
  LinkSpeed inside;           ///< between ranks of one node
  LinkSpeed between;          ///< between ranks of different nodes
  int element_bytes = 2;      ///< of q, k, v and the blocks that travel: 2, 4 or 8
  int accumulator_bytes = 4;  ///< of out, lse and gradients: 4 or 8

  std::vector<SlowLink> slow_links = {};  ///< exceptions
  std::vector<SlowRank> slow_ranks = {};  ///< exceptions

  /// Whether both ranks are in one node.
  bool same_node(int a, int b) const { return a / ranks_per_node == b / ranks_per_node; }
  /// The cost of messages. All messages that a rank posts at once share its port inside the node, or the one
  /// to other nodes.
  LinkCost link(int from, int to) const;
  /// Seconds that this rank computes for each visible pair of all heads and batch entries (formulas F9): 4
  /// head_dim FLOP for each head in the forward pass, 10 in the backward pass.
  BlockCost block(const Shape& shape, Pass pass, int rank) const;
  /// Number types of the elements and of the accumulators.
  DType dtype(Role role) const;
};

/// Throws Error for numbers that are no machine, and for slow ranks and links beyond `world_size` ranks.
void validate(const Machine& machine, int world_size);

/// The machines that have a name.
std::span<const Machine> known_machines();

/// The known machine of this name, or null.
const Machine* known_machine(std::string_view name);

}  // namespace ringcraft
