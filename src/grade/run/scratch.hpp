#pragma once
/// @file
/// Where a grading run works: a folder below TMPDIR for the hand-ins and for the judges' own files.

#include <filesystem>
#include <vector>

#include "grade/jail/jail.hpp"
#include "process/own_folder.hpp"

namespace ringcraft::grade {

/// The folder of a grading run, below TMPDIR. Throws Error (kMissing) if TMPDIR lets it make none.
process::OwnFolder scratch_folder();

/// Everything below a folder becomes the judging user's, if that is one of these layers.
void give(const std::filesystem::path& folder, const std::vector<Layer>& all);

/// Whether the disk on which these judges work has room for them. Without it right files look wrong.
bool has_room(const Sight& sight, const std::vector<Layer>& all);

/// Throws Error (kMissing) unless judges can work there: there is room, and a jailed program can write a
/// program and start it.
void require_work(const Sight& sight, const std::vector<Layer>& all);

}  // namespace ringcraft::grade
