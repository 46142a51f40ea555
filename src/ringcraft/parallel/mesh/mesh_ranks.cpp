// Lesson 505: the coordinates of a rank, the rank at some coordinates, and its groups.
#include <algorithm>

#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft {

std::vector<int> coordinates(const Mesh& mesh, int rank) {
  refuse_rank(mesh, rank);
  // BEGIN SOLUTION 505 [coordinates]
  std::vector<int> at;
  for (const MeshAxis& axis : mesh.axes) {
    at.push_back(rank % axis.size);
    rank /= axis.size;
  }
  return at;
  // END SOLUTION [coordinates]
}

int rank_at(const Mesh& mesh, const std::vector<int>& coordinates) {
  refuse_coordinates(mesh, coordinates);
  // BEGIN SOLUTION 505 [rank_at]
  int rank = 0, stride = 1;
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    rank += coordinates[i] * stride;
    stride *= mesh.axes[i].size;
  }
  return rank;
  // END SOLUTION [rank_at]
}

std::vector<int> group_of(const Mesh& mesh, int rank, const std::vector<Axis>& axes) {
  refuse_rank(mesh, rank);
  refuse_axes(mesh, axes);
  // BEGIN SOLUTION 505 [group_of]
  const std::vector<int> own = coordinates(mesh, rank);
  std::vector<int> group;
  for (int other = 0; other < mesh.world_size(); ++other) {
    const std::vector<int> theirs = coordinates(mesh, other);
    bool member = true;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool named = std::ranges::find(axes, mesh.axes[i].axis) != axes.end();
      member = member && (named || theirs[i] == own[i]);
    }
    if (member) group.push_back(other);
  }
  return group;
  // END SOLUTION [group_of]
}

}  // namespace ringcraft
