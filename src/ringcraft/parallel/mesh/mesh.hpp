#pragma once
/// @file
/// Mesh: the ranks of one world, arranged along several axes. Each axis splits something else: tensor
/// parallelism the heads, context parallelism the tokens of a sequence, data parallelism the batch, pipeline
/// parallelism the layers. A rank has a coordinate on every axis, and ranks that differ on some axes alone
/// are a group, within which these axes communicate (comm/group.hpp). Nothing here sends a message: every
/// rank computes the same groups from sizes and order.

#include <string_view>
#include <tuple>
#include <vector>

#include "ringcraft/core/types.hpp"

namespace ringcraft {

/// A way to split the training of a model over ranks.
enum class Axis : std::uint8_t {
  kTensor,    ///< tp: the heads and the columns of the weights
  kContext,   ///< cp: the tokens of each sequence
  kData,      ///< dp: the sequences of the batch
  kPipeline,  ///< pp: the layers
};

/// "tp", "cp", "dp" or "pp".
std::string_view name_of(Axis axis);

/// One axis of a mesh.
struct MeshAxis {
  Axis axis = Axis::kTensor;  ///< the way to split
  int size = 1;               ///< ranks along it

  static auto fields(auto& self) { return std::tie(self.axis, self.size); }
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

/// The axes of a world, the fastest first: ranks r and r + 1 are neighbours on axes[0], until it is full.
struct Mesh {
  std::vector<MeshAxis> axes;  ///< each at most once

  /// Ranks of all axes: the product of their sizes.
  int world_size() const {
    int ranks = 1;
    for (const MeshAxis& each : axes) ranks *= each.size;
    return ranks;
  }

  static auto fields(auto& self) { return std::tie(self.axes); }
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

/// Ranks along each axis.
struct MeshSizes {
  int tensor = 1;    ///< tp
  int context = 1;   ///< cp
  int data = 1;      ///< dp
  int pipeline = 1;  ///< pp
};

/// Megatron's order (its tp-cp-ep-dp-pp without ep), the fastest axis first.
inline constexpr std::string_view kMegatronOrder = "tp-cp-dp-pp";

/// The mesh of these sizes. `order` names axes, the fastest first, joined by "-"; axes of one rank that it
/// leaves out follow after the others. Throws Error for a size below 1, sizes whose product is not
/// world_size, and an order that names an unknown axis, one twice, or leaves out one with several ranks.
Mesh make_mesh(int world_size, const MeshSizes& sizes, std::string_view order = kMegatronOrder);

/// The rank's coordinates, one for each of mesh.axes, from 0 to its size - 1. Throws Error for a rank that
/// the mesh does not have. (Lesson 505.)
std::vector<int> coordinates(const Mesh& mesh, int rank);

/// The rank at these coordinates. Throws Error unless there is one coordinate for each axis, from 0 to its
/// size - 1. (Lesson 505.)
int rank_at(const Mesh& mesh, const std::vector<int>& coordinates);

/// The ranks whose coordinates are those of `rank` on every axis but these, in increasing order; `rank` is
/// one of them. All members get the same list, in whichever order the axes are named. Throws Error for a rank
/// that the mesh does not have, and for an axis that it does not have or that is named twice. (Lesson 505.)
std::vector<int> group_of(const Mesh& mesh, int rank, const std::vector<Axis>& axes);

/// Refuses axes that make no mesh, and a rank that the mesh does not have.
void refuse_rank(const Mesh& mesh, int rank);
/// Refuses axes that make no mesh, and coordinates that no rank of it has.
void refuse_coordinates(const Mesh& mesh, const std::vector<int>& coordinates);
/// Refuses axes that the mesh does not have, and an axis that is named twice.
void refuse_axes(const Mesh& mesh, const std::vector<Axis>& axes);

}  // namespace ringcraft
