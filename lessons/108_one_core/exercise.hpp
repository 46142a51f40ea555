#pragma once
/// @file
/// The exercises of this lesson: the register kernel, and the attention that calls it.

#include "judge/wire/exercise.hpp"
#include "ringcraft/attention/fast/fast_blockwise.hpp"
#include "ringcraft/attention/fast/register_kernel.hpp"

namespace ringcraft::judge {

using MultiplyPanel = Exercise<&ringcraft::multiply_panel<double>, "multiply_panel">;
using MultiplyPanelFloat = Exercise<&ringcraft::multiply_panel<float>, "multiply_panel_float">;
using FastForward = Exercise<&ringcraft::fast_forward<double>, "fast_forward">;
using FastBackward = Exercise<&ringcraft::fast_backward<double>, "fast_backward">;

}  // namespace ringcraft::judge
