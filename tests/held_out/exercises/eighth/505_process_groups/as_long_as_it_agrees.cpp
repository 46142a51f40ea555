// Mistake: Two mistakes. (1) rank_at multiplies the stride by the size of an axis before that axis is added, so each coordinate counts with the stride of the next axis. (2) Only the first of the named axes is left out of the comparison: a group along cp and dp is the one along cp.
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
    stride *= mesh.axes[i].size;
    rank += coordinates[i] * stride;
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
    bool member = true;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!axes.empty() && mesh.axes[i].axis == axes.front()) continue;
      member = member && theirs[i] == own[i];
    }
    if (member) group.push_back(other);
  }
  return group;
}

}  // namespace ringcraft
