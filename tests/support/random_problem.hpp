#pragma once
/// @file
/// Random masks and problems, decided by a seed: every kind of mask, ragged and empty shards, grouped heads.

#include <string>
#include <vector>

#include "ringcraft/core/random.hpp"
#include "ringcraft/problem/problem.hpp"

namespace ringcraft::testing {

/// Increasing borders from 0 to seqlen.
inline std::vector<Position> random_borders(Random& random, Position seqlen) {
  std::vector<Position> borders{0};
  while (borders.back() < seqlen)
    borders.push_back(random.integer(borders.back() + 1, std::min(seqlen, borders.back() + 1 + seqlen / 2)));
  return borders;
}

/// Full, causal, a window, any pair of limits, limits next to the largest number there is; half of them
/// packed.
inline Mask random_mask(Random& random, Position seqlen) {
  Mask mask;
  switch (random.integer(0, 5)) {
    case 0:
      break;
    case 1:
      mask = causal_mask();
      break;
    case 2:
      mask = window_mask(random.integer(0, seqlen));
      break;
    case 3:
      mask = {.left = random.integer(0, 5), .right = random.integer(0, 5)};
      break;
    case 4:
      mask = {.left = kNoLimit - random.integer(0, 3), .right = random.integer(0, 3)};
      break;
    default:
      mask = {.left = random.integer(0, 3), .right = kNoLimit - random.integer(0, 3)};
      break;
  }
  if (random.integer(0, 1) == 1) mask.cu_seqlens = random_borders(random, seqlen);
  return mask;
}

/// A problem on 1 to max_world ranks with up to max_seqlen tokens, fewer tokens than ranks included.
inline Problem random_problem(Random& random, int max_world = 8, Position max_seqlen = 40) {
  static constexpr Index kHeads[][2] = {{1, 1}, {2, 2}, {2, 1}, {4, 2}, {3, 1}, {6, 3}};
  const auto& heads = kHeads[random.integer(0, 5)];
  const Shape shape{.batch = random.integer(1, 2),
                    .heads = heads[0],
                    .kv_heads = heads[1],
                    .seqlen = random.integer(1, max_seqlen),
                    .head_dim = random.integer(1, 6)};
  const Layout layout = kLayouts[random.integer(0, 3)];
  const int world_size = static_cast<int>(random.integer(1, max_world));
  Problem problem = make_problem(shape, random_mask(random, shape.seqlen), layout, world_size);
  problem.per_sequence = !problem.mask.cu_seqlens.empty() && random.integer(0, 1) == 0;
  return problem;
}

/// A few words for INFO.
inline std::string described(const Problem& p) {
  return "batch " + std::to_string(p.shape.batch) + ", heads " + std::to_string(p.shape.heads) + "/" +
         std::to_string(p.shape.kv_heads) + ", seqlen " + std::to_string(p.shape.seqlen) + ", head_dim " +
         std::to_string(p.shape.head_dim) + ", " + described(p.mask) + ", " + described(p.sharding()) + ", " +
         std::to_string(p.world_size) + " ranks";
}

}  // namespace ringcraft::testing
