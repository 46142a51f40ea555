// Mistake: Members are listed in the order in which the axes are named, the first named as the outer loop, and never sorted: the same ranks in another order, which differs from one order of naming to another. Coordinates and rank_at are right.
// Lesson 505: the coordinates of a rank, the rank at some coordinates, and its groups.
#include <algorithm>

#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft {

std::vector<int> coordinates(const Mesh& mesh, int rank) {
  refuse_rank(mesh, rank);
  std::vector<int> at;
  at.reserve(mesh.axes.size());
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) {
    at.push_back(rank % mesh.axes[i].size);
    rank /= mesh.axes[i].size;
  }
  return at;
}

int rank_at(const Mesh& mesh, const std::vector<int>& coordinates) {
  refuse_coordinates(mesh, coordinates);
  int rank = 0, stride = 1;
  auto at = coordinates.begin();
  for (const MeshAxis& axis : mesh.axes) {
    rank += *at++ * stride;
    stride *= axis.size;
  }
  return rank;
}

std::vector<int> group_of(const Mesh& mesh, int rank, const std::vector<Axis>& axes) {
  refuse_rank(mesh, rank);
  refuse_axes(mesh, axes);
  std::vector<std::vector<int>> places{coordinates(mesh, rank)};
  for (const Axis axis : axes) {
    const auto found = std::ranges::find(mesh.axes, axis, &MeshAxis::axis);
    const auto i = static_cast<std::size_t>(found - mesh.axes.begin());
    std::vector<std::vector<int>> more;
    for (std::vector<int> place : places)
      for (place[i] = 0; place[i] < found->size; ++place[i]) more.push_back(place);
    places = more;
  }
  std::vector<int> group;
  for (const std::vector<int>& place : places) group.push_back(rank_at(mesh, place));
  return group;
}

}  // namespace ringcraft
