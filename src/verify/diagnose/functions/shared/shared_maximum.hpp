#pragma once
/// @file
/// The maximum that the ranks of a softmax over ranks subtract; not for users of the harness.

#include <optional>
#include <vector>

#include "ringcraft/attention/softmax.hpp"
#include "verify/diagnose/exhibit.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// The states of all ranks' own columns, [rank][row].
using SharedStates = std::vector<std::vector<SoftmaxState<double>>>;

/// Another number than the maximum over all ranks is subtracted, which shows where exponentials overflow or
/// vanish; by value.
std::optional<Cause> cause_of_shared_maximum(const SharedScanExhibit& exhibit, const SharedStates& own);
/// All states, or the weights that are made of them, have the digits of float and no more.
std::optional<Cause> cause_of_shared_float(const SharedScanExhibit& exhibit, const SharedStates& own);

}  // namespace ringcraft::verify
