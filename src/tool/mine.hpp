#pragma once
// run --mine: the ladder with the student's files in place of the library's own.

#include <filesystem>
#include <optional>
#include <string>

#include "verify/ladder.hpp"
#include "verify/report.hpp"

namespace ringcraft::tool {

// Builds every exercise that was started in the workspace, says which take part, and climbs the ladder with
// them. A file that takes no part is a row that failed, before those of the stages. Throws Error if nothing
// was started.
verify::Report climb_with_own_files(const std::filesystem::path& workspace, const std::string& title,
                                    const Problem& problem, const verify::Inputs& inputs,
                                    std::optional<Layout> only);

}  // namespace ringcraft::tool
