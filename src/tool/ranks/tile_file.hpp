#pragma once
// Where the tile sizes of this machine's GPU are kept: bench kernels --tune writes the file, and every
// command that computes on a GPU reads it (kernels/engine/tile_table.hpp). It goes when the folder build
// goes.

#include <string>

namespace ringcraft::tool {

// build/tile_sizes.txt of the project's folder.
std::string tile_sizes_file();

}  // namespace ringcraft::tool
