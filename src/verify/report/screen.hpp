#pragma once
/// @file
/// A report with failures on one screen: causes and places first, the rest as far as there is room.

#include <string>
#include <vector>

#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// Lines of a screen.
inline constexpr std::size_t kScreen = 24;

/// Title, causes, `places` (lines of text), pictures, a line for each row, totals. Where all of it is more
/// than a screen, the pictures of the last tensors are left out first.
std::string screen_text_of(const Report& report, const std::vector<std::string>& places, Colour colour);

}  // namespace ringcraft::verify
