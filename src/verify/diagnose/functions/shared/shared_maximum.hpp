#pragma once
/// @file
/// The maximum that the ranks of a distributed softmax subtract; internal to the harness.

#include <optional>
#include <vector>

#include "ringcraft/attention/softmax.hpp"
#include "verify/diagnose/exhibit.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// The states of all ranks' own columns, [rank][row].
using SharedStates = std::vector<std::vector<SoftmaxState<double>>>;

/// The cause if a rank subtracts another number than the maximum over all ranks, which shows where
/// exponentials overflow or vanish; found by value.
std::optional<Cause> cause_of_shared_maximum(const SharedScanExhibit& exhibit, const SharedStates& own);
/// The cause if all states, or the weights made from them, have the digits of float and no more.
std::optional<Cause> cause_of_shared_float(const SharedScanExhibit& exhibit, const SharedStates& own);

}  // namespace ringcraft::verify
