#pragma once
/// @file
/// Parts of the diagnosis of masks as intervals of positions and as ranges of local rows.

#include <vector>

#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify::ranges {

/// The keys that position p sees.
KeyInterval right_interval(const Mask& mask, Position seqlen, Position p);

/// Why a cursor is wrong: the formulas of the two ends of its intervals.
std::vector<Cause> causes_of_intervals(const std::vector<RangesExhibit::Walk>& walks);
/// Why ranges are wrong: which keys of a shard are counted for begin and for end.
std::vector<Cause> causes_of_meetings(const std::vector<RangesExhibit::Meeting>& meetings);
/// Why the steps grow with the square of the tokens: which product they are.
std::vector<Cause> causes_of_steps(const std::vector<RangesExhibit::Counted>& counted);

}  // namespace ringcraft::verify::ranges
