#pragma once
/// @file
/// Cases for mistakes that only a kernel can make: the general table has shards shorter than one tile of 64
/// rows and keys.

#include <cuda_runtime_api.h>  // on the CPU it says where ringcraft::kernels lies

#include <vector>

#include "verify/oracle/cases.hpp"

namespace ringcraft::kernels {

/// Shards of one to three tiles, one row more or less than whole ones, on three to five ranks: every layout
/// with every kind of mask, heads 8/2, 6/3 and 4/1, head_dim around 64 and 128 and not divisible by four,
/// every kind of data. kBrief: every thirteenth of them.
std::vector<verify::Case> kernel_cases(verify::CaseSet set);

/// The table of cases for a ring of kernels; kBrief: every seventh of the brief one.
std::vector<verify::Case> ring_cases(verify::CaseSet set);

/// One shard, and windows that begin or end one key before a border of a tile, on it and after it.
std::vector<verify::Case> window_cases(verify::Data data, Index heads);

/// For tile sizes: one shard of four tiles of rows, masks whose borders lie inside tiles of 16 to 128
/// keys, and head_dim of both paddings.
std::vector<verify::Case> tile_cases();

}  // namespace ringcraft::kernels
