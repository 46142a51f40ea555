#pragma once
/// @file
/// Asks a tile of the kernels where it puts its rows.

#include <vector>

#include "engine/launch.cuh"
#include "engine/numbers16.cuh"

namespace ringcraft::layouts {

/// Writes at(row, column) of each row, for each column that is a multiple of 8, as numbers from the tile's
/// begin.
template <int kHeadDim, class Tile>
__global__ void places_kernel(Tile tile, int rows, int* places) {
  tile.smem = kernels::dynamic_shared<kernels::Bf16>();
  for (int row = int(threadIdx.x); row < rows; row += int(blockDim.x))
    for (int column = 0; column < kHeadDim; column += 8)
      places[row * kHeadDim + column] = int(tile.at(row, column) - tile.smem);
}

/// The same for each number of the tile; -1 where it was not asked.
template <int kHeadDim, class Tile>
std::vector<int> places_in(Tile tile, int rows) {
  std::vector<int> places(static_cast<std::size_t>(rows) * kHeadDim, -1);
  kernels::launch(places_kernel<kHeadDim, Tile>, 1, 32, 16, nullptr, tile, rows, places.data());
  RINGCRAFT_CUDA(cudaStreamSynchronize(nullptr));
  return places;
}

}  // namespace ringcraft::layouts
