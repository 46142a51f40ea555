#pragma once
/// @file
/// The exercise of this lesson: one scan over the scores of a row.

#include "judge/wire/exercise.hpp"
#include "ringcraft/attention/softmax.hpp"

namespace ringcraft::judge {

using OnlineScan = Exercise<&ringcraft::online_scan<double>, "online_scan">;
using OnlineScanFloat = Exercise<&ringcraft::online_scan<float>, "online_scan_float">;

template <>
struct FloatsOf<OnlineScan> : std::type_identity<OnlineScanFloat> {};

}  // namespace ringcraft::judge
