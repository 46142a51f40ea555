#pragma once
/// @file
/// The exercise of this lesson: two partial results become one.

#include "judge/wire/exercise.hpp"
#include "ringcraft/attention/merge.hpp"

namespace ringcraft::judge {

using Merge = Exercise<&ringcraft::merge<double>, "merge">;
using MergeFloat = Exercise<&ringcraft::merge<float>, "merge_float">;

template <>
struct FloatsOf<Merge> : std::type_identity<MergeFloat> {};

}  // namespace ringcraft::judge
