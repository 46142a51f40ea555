// Mistake: A coordinate is the rank divided by the stride of its axis, but not taken modulo its size: right on the slowest axis alone. rank_at is right, so the way there and back gives other ranks, and groups compare these coordinates.
// Lesson 505: the coordinates of a rank, the rank at some coordinates, and its groups.
#include <algorithm>

#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft {

std::vector<int> coordinates(const Mesh& mesh, int rank) {
  refuse_rank(mesh, rank);
  std::vector<int> result;
  int stride = 1;
  for (const MeshAxis& a : mesh.axes) {
    result.push_back(rank / stride);
    stride *= a.size;
  }
  return result;
}

int rank_at(const Mesh& mesh, const std::vector<int>& coordinates) {
  refuse_coordinates(mesh, coordinates);
  int rank = 0;
  int stride = 1;
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) {
    rank += stride * coordinates[i];
    stride *= mesh.axes[i].size;
  }
  return rank;
}

std::vector<int> group_of(const Mesh& mesh, int rank, const std::vector<Axis>& axes) {
  refuse_rank(mesh, rank);
  refuse_axes(mesh, axes);
  const auto named = [&](Axis axis) { return std::count(axes.begin(), axes.end(), axis) > 0; };
  const std::vector<int> own = coordinates(mesh, rank);
  std::vector<int> group;
  for (int other = 0; other < mesh.world_size(); ++other) {
    const std::vector<int> at = coordinates(mesh, other);
    std::size_t same = 0;
    for (std::size_t i = 0; i < at.size(); ++i) same += named(mesh.axes[i].axis) || at[i] == own[i];
    if (same == at.size()) group.push_back(other);
  }
  return group;
}

}  // namespace ringcraft
