#pragma once
// The student's files on the ladder, in a program that has the course.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/attention/kernel_ladder.hpp"
#include "verify/ladder/ladder.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::tool {

// run --mine: builds every exercise that was started in the student's workspace, reports which take part, and
// climbs the ladder with them instead of the library's own files. A file that takes no part is a failed row,
// before those of the stages. Throws Error if nothing was started. `kernels`: where those run.
verify::Report climb_with_own_files(const std::string& title, const Problem& problem,
                                    const verify::Inputs& inputs, std::optional<Layout> only,
                                    KernelPlace kernels);

// Climbs the kernels' stages on this device as far as the lesson's last one, on a small problem, with the
// student's file of that lesson. Gives a row without points for every stage that runs the file, and for every
// other that failed; if the file cannot be built for the place, one row that says why.
std::vector<verify::ReportRow> stages_with_own_file(int lesson, KernelPlace place, std::uint64_t seed);

}  // namespace ringcraft::tool
