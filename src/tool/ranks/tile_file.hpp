#pragma once
// The file with the tile sizes of this machine's GPU: bench kernels --tune writes it, and every command that
// computes on a GPU reads it (kernels/engine/tile_table.hpp). It is deleted with the folder build.

#include <string>

namespace ringcraft::tool {

// build/tile_sizes.txt of the project's folder.
std::string tile_sizes_file();

}  // namespace ringcraft::tool
