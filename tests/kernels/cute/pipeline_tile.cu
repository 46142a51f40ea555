// The tile of rung 05 forward (see warp_kernels.hpp): it is its file's own, so the file is read here.
#include "forward/05_pipeline.cu"
#include "swizzle_places.cuh"
#include "warp_kernels.hpp"

namespace ringcraft::layouts {

std::vector<int> pipeline_places(int head_dim, int rows) {
  using namespace kernels;
  return head_dim == 64 ? places_in<64>(Tile<64, kTile>{}, rows) : places_in<128>(Tile<128, kTile>{}, rows);
}

}  // namespace ringcraft::layouts
