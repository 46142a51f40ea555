#pragma once
/// @file
/// The vocabulary of wrong groups: along which axes members differ, where the list begins, and what becomes
/// of it. The first word of each list is the right one.

#include <optional>
#include <span>
#include <vector>

#include "verify/diagnose/exhibit.hpp"

namespace ringcraft::verify {

using AxisPlaces = std::vector<std::size_t>;  ///< of axes in the mesh
using GroupMembers = std::vector<Index>;

/// The place of an axis in the mesh, if it has one.
std::optional<std::size_t> axis_place(const Mesh& mesh, Axis axis);

/// The axes along which members differ, from those that were named; in the order of their names.
struct FreeWord {
  const char* words;
  AxisPlaces (*free)(const Mesh& mesh, const std::vector<Axis>& axes, const AxisPlaces& named);
};
/// The first member, where it is computed.
struct BaseWord {
  const char* words;
  Index (*base)(Index right, Index rank, Index size, Index stride);
};
/// What becomes of the list.
struct ListWord {
  const char* words;
  void (*change)(GroupMembers& members, Index rank, Index world);
};

std::span<const FreeWord> free_words();
std::span<const BaseWord> base_words();
std::span<const ListWord> list_words();

}  // namespace ringcraft::verify
