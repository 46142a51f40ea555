// Mistake: The axes are read the slowest first, as in a tensor or in init_device_mesh: coordinates divides from the last axis to the first, and rank_at undoes just that. Both agree with each other, and groups are right for the mesh that they describe.
// Lesson 505: the coordinates of a rank, the rank at some coordinates, and its groups.
#include <algorithm>

#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft {

std::vector<int> coordinates(const Mesh& mesh, int rank) {
  refuse_rank(mesh, rank);
  std::vector<int> at(mesh.axes.size());
  for (std::size_t i = at.size(); i-- > 0;) {
    at[i] = rank % mesh.axes[i].size;
    rank /= mesh.axes[i].size;
  }
  return at;
}

int rank_at(const Mesh& mesh, const std::vector<int>& coordinates) {
  refuse_coordinates(mesh, coordinates);
  int rank = 0;
  for (std::size_t i = 0; i < coordinates.size(); ++i) rank = rank * mesh.axes[i].size + coordinates[i];
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
    for (std::size_t i = 0; i < own.size(); ++i)
      if (std::ranges::find(axes, mesh.axes[i].axis) == axes.end()) member &= theirs[i] == own[i];
    if (member) group.push_back(other);
  }
  return group;
}

}  // namespace ringcraft
