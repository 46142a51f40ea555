// Mistake: A member is one that differs from the rank on at most as many axes as are named, whichever they are: along one axis the ranks one step away on any axis are members. Coordinates and rank_at are right.
// Lesson 505: the coordinates of a rank, the rank at some coordinates, and its groups.
#include <algorithm>

#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft {

std::vector<int> coordinates(const Mesh& mesh, int rank) {
  refuse_rank(mesh, rank);
  std::vector<int> at;
  for (const MeshAxis& axis : mesh.axes) {
    const int size = axis.size;
    at.push_back(rank % size);
    rank = (rank - at.back()) / size;
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
  const std::vector<int> own = coordinates(mesh, rank);
  std::vector<int> group;
  for (int other = 0; other < mesh.world_size(); ++other) {
    const std::vector<int> theirs = coordinates(mesh, other);
    std::size_t differ = 0;
    for (std::size_t i = 0; i < own.size(); ++i) differ += own[i] != theirs[i] ? 1 : 0;
    if (differ <= axes.size()) group.push_back(other);
  }
  return group;
}

}  // namespace ringcraft
