#pragma once
/// @file
/// The exercises of this lesson: coordinates of a rank, the way back, and groups.

#include "judge/wire/exercise.hpp"
#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft::judge {

using Coordinates = Exercise<&ringcraft::coordinates, "coordinates">;
using RankAt = Exercise<&ringcraft::rank_at, "rank_at">;
using GroupOf = Exercise<&ringcraft::group_of, "group_of">;

}  // namespace ringcraft::judge
