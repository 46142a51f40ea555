// Lesson 503: rows and columns of ranks.
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

#include "ringcraft/core/error.hpp"
#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

GridGroups grid_groups(int world_size, int degree, int rank) {
  // BEGIN SOLUTION 503 [grid_groups]
  GridGroups groups;
  const int row = rank / degree, column = rank % degree;
  for (int other = 0; other < degree; ++other) groups.row.push_back(row * degree + other);
  for (int other = 0; other < world_size / degree; ++other) groups.column.push_back(other * degree + column);
  return groups;
  // END SOLUTION [grid_groups]
}

Problem column_problem(const Problem& problem, int degree) {
  Problem column = problem;
  const DealtHeads heads = dealt_heads(problem.shape, degree, 0);
  column.shape.heads = heads.query.count;
  column.shape.kv_heads = heads.kv.count;
  column.world_size = problem.world_size / degree;
  column.joined = degree;
  return column;
}

}  // namespace ringcraft
