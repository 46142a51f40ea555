#pragma once
/// @file
/// Fits a report with failures on one screen: causes and places first, the rest as space allows.

#include <string>
#include <vector>

#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// Lines of a screen.
inline constexpr std::size_t kScreen = 24;

/// Title, causes, `places` (lines of text), pictures, a line for each row, totals. If that exceeds a screen,
/// the pictures of the last tensors are dropped first.
std::string screen_text_of(const Report& report, const std::vector<std::string>& places, Colour colour);

}  // namespace ringcraft::verify
