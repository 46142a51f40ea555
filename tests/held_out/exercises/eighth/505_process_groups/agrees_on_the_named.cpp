// Mistake: A member is one that agrees with the rank on the named axes, instead of on every axis but these: the group along cp has all ranks of the same context coordinate, and a group along no axis is the world. Coordinates and rank_at are right.
// Lesson 505: the coordinates of a rank, the rank at some coordinates, and its groups.
#include <algorithm>

#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft {

std::vector<int> coordinates(const Mesh& mesh, int rank) {
  refuse_rank(mesh, rank);
  std::vector<int> c(mesh.axes.size());
  int stride = 1;
  for (std::size_t i = 0; i < c.size(); ++i) {
    c[i] = rank / stride % mesh.axes[i].size;
    stride *= mesh.axes[i].size;
  }
  return c;
}

int rank_at(const Mesh& mesh, const std::vector<int>& coordinates) {
  refuse_coordinates(mesh, coordinates);
  int rank = 0;
  for (std::size_t i = coordinates.size(); i > 0; --i)
    rank = rank * mesh.axes[i - 1].size + coordinates[i - 1];
  return rank;
}

std::vector<int> group_of(const Mesh& mesh, int rank, const std::vector<Axis>& axes) {
  refuse_rank(mesh, rank);
  refuse_axes(mesh, axes);
  const std::vector<int> own = coordinates(mesh, rank);
  std::vector<int> group;
  for (int other = 0; other < mesh.world_size(); ++other) {
    const std::vector<int> theirs = coordinates(mesh, other);
    bool member = true;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool along = std::find(axes.begin(), axes.end(), mesh.axes[i].axis) != axes.end();
      if (along && theirs[i] != own[i]) member = false;
    }
    if (member) group.push_back(other);
  }
  return group;
}

}  // namespace ringcraft
