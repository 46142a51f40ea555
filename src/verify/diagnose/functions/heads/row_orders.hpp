#pragma once
/// @file
/// The vocabulary of wrong rows: the ranks whose tokens a number counts, and the order in which they are
/// counted.

#include <span>
#include <vector>

#include "verify/diagnose/exhibit.hpp"

namespace ringcraft::verify::rows {

/// One answer, with the positions of every rank.
struct RowCall {
  int degree, rank;
  std::vector<std::vector<Position>> positions;  ///< [rank]
  std::vector<Index> got;

  RowCall(const Sharding& sharding, int degree, int rank, const std::vector<Index>& rows);

  int ranks() const { return static_cast<int>(positions.size()); }
  const std::vector<Position>& own() const { return positions[static_cast<std::size_t>(rank)]; }
  Index rows(int of) const { return std::ssize(positions[static_cast<std::size_t>(of)]); }
};

/// The ranks that are taken for neighbours, the own one among them.
struct Party {
  const char* words;
  bool (*has)(const RowCall&, int other);
};

/// The tokens of a party, as a number needs them.
struct Members {
  std::vector<int> ranks;           ///< increasing
  std::vector<Position> positions;  ///< increasing
  Index before = 0, others = 0;     ///< rows of the ranks before the own one, and of all but it
  Index number = 0;                 ///< the own rank's among the party

  Members(const RowCall& call, const Party& party);
  /// How many of them lie before a position.
  Index below(Position p) const;
};

/// The number that row a gets.
struct Order {
  const char* words;  ///< "#": the party
  Index (*at)(const RowCall&, const Members&, Index a);
};

std::span<const Party> parties();  ///< the right one first
std::span<const Order> orders();   ///< the right one first

}  // namespace ringcraft::verify::rows
