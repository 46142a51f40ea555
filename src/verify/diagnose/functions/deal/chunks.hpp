#pragma once
/// @file
/// What the diagnosis of chunks is made of: that of nth_chunk is in chunks.cpp.

#include "verify/diagnose/exhibit.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// Why the chunks of ranks are wrong: by the numbers that they have in the student's own cut, or another one.
std::vector<Cause> causes_of_pairs(const ChunkExhibit& exhibit);

}  // namespace ringcraft::verify
