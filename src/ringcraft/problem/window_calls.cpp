// Blocks of a sliding window as calls of a kernel that aligns its window to the bottom right.
#include "ringcraft/problem/window_calls.hpp"

#include <algorithm>

namespace ringcraft {

bool WindowCall::computes(Index row, Index key) const {
  if (row < rows.begin || row >= rows.end || key < keys.begin || key >= keys.end) return false;
  const Index aligned = row - rows.begin + keys.rows() - rows.rows(), j = key - keys.begin;
  return (left < 0 || aligned - left <= j) && (right < 0 || j <= aligned + right);
}

std::vector<WindowCall> window_calls(Chunk queries, Chunk keys, Position window) {
  if (queries == keys) return {{{0, queries.rows()}, {0, keys.rows()}, window, 0}};
  const Position delta = window - (queries.begin - keys.begin);  // row a sees the keys b >= a - delta
  const Index rows = std::min(queries.rows(), keys.rows() + delta);
  const Index first = std::max<Index>(0, -delta);  // the first key that row 0 sees
  const Index left_over = keys.rows() - first;
  if (rows <= 0 || left_over <= 0) return {};
  if (rows - 1 <= delta) return {{{0, rows}, {0, keys.rows()}, -1, -1}};
  // The first rows see all keys that are left; they are a call of their own where rows outnumber keys.
  const Index whole = std::max<Index>(0, rows - left_over);
  std::vector<WindowCall> calls;
  if (whole > 0) calls.push_back({{0, whole}, {first, keys.rows()}, -1, -1});
  calls.push_back({{whole, rows}, {first, keys.rows()}, left_over - rows + std::max<Position>(0, delta), -1});
  return calls;
}

}  // namespace ringcraft
