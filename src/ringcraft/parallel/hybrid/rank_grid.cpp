// The problem of a ring along a column of ranks.
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

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
