// Mistake: The ranks of a group are looked for from the own rank on, around the end of the world, so each member has a list that begins with itself, and no two members have the same. Coordinates and rank_at are right.
// Lesson 505: the coordinates of a rank, the rank at some coordinates, and its groups.
#include <algorithm>

#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft {

std::vector<int> coordinates(const Mesh& mesh, int rank) {
  refuse_rank(mesh, rank);
  std::vector<int> at;
  for (const MeshAxis& axis : mesh.axes) {
    at.push_back(rank % axis.size);
    rank /= axis.size;
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
  const int n = mesh.world_size();
  const std::vector<int> own = coordinates(mesh, rank);
  std::vector<int> group;
  for (int step = 0; step < n; ++step) {
    const int other = (rank + step) % n;
    const std::vector<int> theirs = coordinates(mesh, other);
    const auto kept = [&](std::size_t i) {
      return own[i] == theirs[i] || std::ranges::find(axes, mesh.axes[i].axis) != axes.end();
    };
    std::size_t i = 0;
    while (i < own.size() && kept(i)) ++i;
    if (i == own.size()) group.push_back(other);
  }
  return group;
}

}  // namespace ringcraft
