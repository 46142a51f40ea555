#pragma once
/// @file
/// The two dimensions of a hybrid: ranks in a row deal heads among each other, ranks in a column make a ring.

#include <tuple>
#include <vector>

#include "ringcraft/problem/problem.hpp"

namespace ringcraft {

/// The two groups that a rank is a member of, each in the order of its ranks.
struct GridGroups {
  std::vector<int> row;     ///< neighbours, among which heads are dealt: fast links
  std::vector<int> column;  ///< a ring, one rank of each row

  static auto fields(auto& self) { return std::tie(self.row, self.column); }
  friend bool operator==(const GridGroups&, const GridGroups&) = default;
};

/// The groups of a rank, where rank r of `world_size` stands in row r / degree and column r mod degree;
/// `degree` divides world_size. (Lesson 503.)
GridGroups grid_groups(int world_size, int degree, int rank);

/// The problem of one column: a ring over the rows, each of which holds the tokens of its ranks together, for
/// the heads that one rank of a row computes.
Problem column_problem(const Problem& problem, int degree);

}  // namespace ringcraft
