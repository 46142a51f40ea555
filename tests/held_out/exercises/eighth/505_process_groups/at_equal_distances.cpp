// Mistake: The members of a group along several axes are set down at equal distances, the stride of the fastest of the named axes, as many as the product of their sizes: right for one axis, and for axes that are neighbours in the mesh. Coordinates and rank_at are right.
// Lesson 505: the coordinates of a rank, the rank at some coordinates, and its groups.
#include <algorithm>

#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft {

std::vector<int> coordinates(const Mesh& mesh, int rank) {
  refuse_rank(mesh, rank);
  std::vector<int> at;
  for (const MeshAxis& each : mesh.axes) {
    at.push_back(rank % each.size);
    rank /= each.size;
  }
  return at;
}

int rank_at(const Mesh& mesh, const std::vector<int>& coordinates) {
  refuse_coordinates(mesh, coordinates);
  int rank = 0, stride = 1;
  for (std::size_t i = 0; i < coordinates.size(); ++i, stride *= mesh.axes[i - 1].size)
    rank += coordinates[i] * stride;
  return rank;
}

std::vector<int> group_of(const Mesh& mesh, int rank, const std::vector<Axis>& axes) {
  refuse_rank(mesh, rank);
  refuse_axes(mesh, axes);
  std::vector<int> first = coordinates(mesh, rank);
  int stride = 1, distance = 0, members = 1;
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) {
    if (std::ranges::count(axes, mesh.axes[i].axis) > 0) {
      first[i] = 0;
      members *= mesh.axes[i].size;
      if (distance == 0) distance = stride;
    }
    stride *= mesh.axes[i].size;
  }
  std::vector<int> group(static_cast<std::size_t>(members), rank_at(mesh, first));
  for (std::size_t i = 1; i < group.size(); ++i) group[i] = group[i - 1] + distance;
  return group;
}

}  // namespace ringcraft
