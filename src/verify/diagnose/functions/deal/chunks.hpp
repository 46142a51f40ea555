#pragma once
/// @file
/// Parts of the diagnosis of chunks; chunks.cpp has that of nth_chunk.

#include "verify/diagnose/exhibit.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// Why the chunks of ranks are wrong: by their numbers in the student's own cut, or in another one.
std::vector<Cause> causes_of_pairs(const ChunkExhibit& exhibit);

}  // namespace ringcraft::verify
