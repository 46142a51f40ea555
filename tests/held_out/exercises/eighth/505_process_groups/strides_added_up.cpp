// Mistake: The stride of an axis is the sum of the sizes before it and not their product, in rank_at alone. With two axes there is no difference, for the sum of one size is the size.
// Lesson 505: the coordinates of a rank, the rank at some coordinates, and its groups.
#include <algorithm>

#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft {

std::vector<int> coordinates(const Mesh& mesh, int rank) {
  refuse_rank(mesh, rank);
  std::vector<int> at;
  for (const auto& [axis, size] : mesh.axes) at.push_back(rank % size), rank /= size;
  return at;
}

int rank_at(const Mesh& mesh, const std::vector<int>& coordinates) {
  refuse_coordinates(mesh, coordinates);
  int rank = coordinates.empty() ? 0 : coordinates[0];
  int behind = 0;
  for (std::size_t i = 1; i < coordinates.size(); ++i) {
    behind += mesh.axes[i - 1].size;
    rank += behind * coordinates[i];
  }
  return rank;
}

std::vector<int> group_of(const Mesh& mesh, int rank, const std::vector<Axis>& axes) {
  refuse_rank(mesh, rank);
  refuse_axes(mesh, axes);
  const std::vector<int> own = coordinates(mesh, rank);
  std::vector<int> members;
  for (int r = 0; r < mesh.world_size(); ++r) {
    const std::vector<int> there = coordinates(mesh, r);
    bool in = true;
    for (std::size_t i = 0; i < own.size() && in; ++i)
      in = there[i] == own[i] || std::find(axes.begin(), axes.end(), mesh.axes[i].axis) != axes.end();
    if (in) members.push_back(r);
  }
  return members;
}

}  // namespace ringcraft
