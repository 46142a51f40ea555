// Mistake: The place of an axis in the mesh is taken to be the number of its name in the enum, tp 0, cp 1, dp 2, pp 3, as if every mesh had all four in this order. So groups are right in the order tp-cp-dp-pp alone. Coordinates and rank_at are right.
// Lesson 505: the coordinates of a rank, the rank at some coordinates, and its groups.
#include <algorithm>

#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft {

std::vector<int> coordinates(const Mesh& mesh, int rank) {
  refuse_rank(mesh, rank);
  std::vector<int> at;
  for (const MeshAxis& axis : mesh.axes) {
    at.push_back(rank % axis.size);
    rank = rank / axis.size;
  }
  return at;
}

int rank_at(const Mesh& mesh, const std::vector<int>& coordinates) {
  refuse_coordinates(mesh, coordinates);
  int rank = 0, stride = 1;
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    rank += coordinates[i] * stride;
    stride *= mesh.axes[i].size;
  }
  return rank;
}

std::vector<int> group_of(const Mesh& mesh, int rank, const std::vector<Axis>& axes) {
  refuse_rank(mesh, rank);
  refuse_axes(mesh, axes);
  std::vector<bool> free(mesh.axes.size(), false);
  for (const Axis axis : axes)
    if (static_cast<std::size_t>(axis) < free.size()) free[static_cast<std::size_t>(axis)] = true;
  const auto own = coordinates(mesh, rank);
  std::vector<int> group;
  for (int r = 0; r < mesh.world_size(); ++r) {
    const auto at = coordinates(mesh, r);
    bool member = true;
    for (std::size_t i = 0; i < at.size(); ++i) member = member && (free[i] || at[i] == own[i]);
    if (member) group.push_back(r);
  }
  return group;
}

}  // namespace ringcraft
