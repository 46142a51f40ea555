// Builds a mesh from sizes and order, and refuses what is none.
#include "ringcraft/parallel/mesh/mesh.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

constexpr std::array kAxisNames{
    std::pair{Axis::kTensor, std::string_view("tp")}, std::pair{Axis::kContext, std::string_view("cp")},
    std::pair{Axis::kData, std::string_view("dp")}, std::pair{Axis::kPipeline, std::string_view("pp")}};

int size_on(const MeshSizes& sizes, Axis axis) {
  switch (axis) {
    case Axis::kTensor:
      return sizes.tensor;
    case Axis::kContext:
      return sizes.context;
    case Axis::kData:
      return sizes.data;
    case Axis::kPipeline:
      return sizes.pipeline;
  }
  return 1;
}

bool has_axis(const Mesh& mesh, Axis axis) {
  return std::ranges::any_of(mesh.axes, [axis](const MeshAxis& each) { return each.axis == axis; });
}

Axis axis_named(std::string_view name) {
  const auto* const found =
      std::ranges::find(kAxisNames, name, [](const auto& named) { return named.second; });
  if (found == kAxisNames.end())
    throw Error("order of a mesh", "tp, cp, dp and pp, joined by '-'", "'" + std::string(name) + "'",
                "Megatron's order is " + std::string(kMegatronOrder));
  return found->first;
}

void append_axis(Mesh& mesh, const MeshSizes& sizes, Axis axis) {
  if (has_axis(mesh, axis))
    throw Error("order of a mesh", "each axis once", std::string(name_of(axis)) + " twice",
                "Megatron's order is " + std::string(kMegatronOrder));
  mesh.axes.push_back({axis, size_on(sizes, axis)});
}

std::string told(const MeshSizes& sizes) {
  std::string text;
  for (const auto& [axis, name] : kAxisNames)
    text += (text.empty() ? "" : " x ") + std::string(name) + " " + std::to_string(size_on(sizes, axis));
  return text;
}

}  // namespace

std::string_view name_of(Axis axis) {
  return std::ranges::find(kAxisNames, axis, [](const auto& named) { return named.first; })->second;
}

Mesh make_mesh(int world_size, const MeshSizes& sizes, std::string_view order) {
  Mesh mesh;
  for (std::size_t begin = 0; begin <= order.size();) {
    const std::size_t end = std::min(order.find('-', begin), order.size());
    append_axis(mesh, sizes, axis_named(order.substr(begin, end - begin)));
    begin = end + 1;
  }
  Index ranks = 1;  // stops above world_size, so that no product overflows
  for (const auto& [axis, name] : kAxisNames) {
    const int size = size_on(sizes, axis);
    if (size < 1)
      throw Error("size of " + std::string(name), "1 or more ranks", std::to_string(size),
                  "an axis that splits nothing has one rank");
    ranks = ranks > world_size ? ranks : ranks * size;
    if (has_axis(mesh, axis)) continue;
    if (size > 1)
      throw Error("order of a mesh",
                  "a place for " + std::string(name) + ", which has " + std::to_string(size) + " ranks",
                  "'" + std::string(order) + "'", "name every axis with more than one rank");
    mesh.axes.push_back({axis, 1});
  }
  if (ranks != world_size)
    throw Error("sizes of a mesh", "a product of " + std::to_string(world_size) + ", the world size",
                told(sizes), "dp is what the others leave: the world size divided by their product");
  return mesh;
}

namespace {

// A Mesh is plain data, which need not come from make_mesh.
void refuse_mesh(const Mesh& mesh) {
  constexpr Index kMost = std::numeric_limits<int>::max();
  Index ranks = 1;
  for (const MeshAxis& each : mesh.axes) {
    const bool once = std::ranges::count(mesh.axes, each.axis, &MeshAxis::axis) == 1;
    ranks = each.size < 1 ? kMost + 1 : std::min(kMost + 1, ranks * each.size);
    if (!once || ranks > kMost)
      throw Error(
          "mesh", "each axis once, with 1 or more ranks, and at most " + std::to_string(kMost) + " together",
          !once ? "an axis twice" : "an axis of " + std::to_string(each.size), "make it with make_mesh");
  }
}

}  // namespace

void refuse_rank(const Mesh& mesh, int rank) {
  refuse_mesh(mesh);
  if (rank < 0 || rank >= mesh.world_size())
    throw Error("rank of a mesh", "0 to " + std::to_string(mesh.world_size() - 1), std::to_string(rank),
                "the mesh has the product of its sizes as ranks");
}

void refuse_coordinates(const Mesh& mesh, const std::vector<int>& coordinates) {
  refuse_mesh(mesh);
  if (coordinates.size() != mesh.axes.size())
    throw Error("coordinates", std::to_string(mesh.axes.size()) + " numbers, one for each axis",
                std::to_string(coordinates.size()), "an axis of one rank has the coordinate 0");
  for (std::size_t i = 0; i < coordinates.size(); ++i)
    if (coordinates[i] < 0 || coordinates[i] >= mesh.axes[i].size)
      throw Error("coordinate on " + std::string(name_of(mesh.axes[i].axis)),
                  "0 to " + std::to_string(mesh.axes[i].size - 1), std::to_string(coordinates[i]),
                  "give the coordinates in the order of the mesh, the fastest axis first");
}

void refuse_axes(const Mesh& mesh, const std::vector<Axis>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool known = static_cast<std::size_t>(axes[i]) < kAxisNames.size();
    const std::string name = known ? std::string(name_of(axes[i])) : "no axis";
    if (!known || !has_axis(mesh, axes[i]))
      throw Error("axes of a group", "axes of the mesh", name, "make_mesh gives a mesh all four axes");
    if (std::count(axes.begin(), axes.end(), axes[i]) > 1)
      throw Error("axes of a group", "each axis once", name + " twice", "name it once");
  }
}

}  // namespace ringcraft
