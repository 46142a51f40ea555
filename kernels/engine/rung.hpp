#pragma once
/// @file
/// A rung of a ladder of kernels. Each says at the end of its file what it admits; the rungs.cpp of its
/// folder lists it, so that an engine, tests and the ladder take any of them.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <span>
#include <string>

#include "engine/launches.hpp"
#include "engine/tile_sizes.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/types.hpp"

namespace ringcraft::kernels {

/// A rung: its number and name, the problems that it admits, and its launch. Step: ForwardStep or
/// BackwardStep, with its extents and the word kPass.
template <class Step>
struct Rung {
  int number;            ///< of its file, from 1
  const char* name;      ///< "online softmax"
  DType dtype;           ///< of q, k, v and dout; the rest is float32
  int largest_head_dim;  ///< it takes 1 to this
  /// The number of float32 of global memory that it needs beside its operands; null: none.
  Index (*workspace)(const Step& step);
  /// Enqueues one step that has rows, keys and heads. The caller owns the workspace and leaves it alone until
  /// the step is done; its contents do not matter.
  void (*run)(const Step& step, float* workspace_gmem, cudaStream_t stream);
  /// Whether every run gives the same bits. No: thread blocks add to the same numbers in the order in which
  /// they come, and a sum of rounded numbers depends on it.
  bool deterministic = true;
  /// The tile sizes that it takes for a head_dim, the usual one first; null: it has but one. Step::tile is a
  /// place in this list.
  std::span<const TileSize> (*tiles)(int head_dim) = nullptr;
};

/// The tile sizes to choose from; empty: there is nothing to choose.
template <class Step>
std::span<const TileSize> tiles_of(const Rung<Step>& rung, int head_dim) {
  return rung.tiles == nullptr ? std::span<const TileSize>() : rung.tiles(head_dim);
}

/// Throws Error if the rung does not take this number type or head_dim.
template <class Step>
void refuse(const Rung<Step>& rung, DType dtype, Index head_dim) {
  const std::string who =
      std::string(Step::kPass) + " kernel " + std::to_string(rung.number) + ", " + rung.name;
  if (dtype != rung.dtype)
    throw Error(who, std::string(name_of(rung.dtype)), std::string(name_of(dtype)), "take another rung");
  if (head_dim < 1 || head_dim > rung.largest_head_dim)
    throw Error(who, "head_dim 1 to " + std::to_string(rung.largest_head_dim), std::to_string(head_dim),
                "use a host engine");
}

/// The workspace that this step needs, in numbers.
template <class Step>
Index workspace_of(const Rung<Step>& rung, const Step& step) {
  return rung.workspace == nullptr ? 0 : rung.workspace(step);
}

/// Enqueues one step, or nothing if there is nothing to do. Throws Error for a head_dim or a tile that the
/// rung does not take and when a launch fails.
template <class Step>
void run(const Rung<Step>& rung, const Step& step, float* workspace_gmem, cudaStream_t stream) {
  refuse(rung, rung.dtype, step.head_dim);
  const std::size_t tiles = std::max<std::size_t>(tiles_of(rung, step.head_dim).size(), 1);
  if (step.tile < 0 || static_cast<std::size_t>(step.tile) >= tiles)
    throw Error(std::string(Step::kPass) + " kernel " + std::to_string(rung.number) + ", " + rung.name,
                "a tile below " + std::to_string(tiles), std::to_string(step.tile), "0 is the usual one");
  if (step.batch == 0 || step.heads == 0 || step.rows == 0 || step.keys == 0) return;
  if (launches_seen != nullptr) launches_seen->clear();
  rung.run(step, workspace_gmem, stream);
}

}  // namespace ringcraft::kernels
