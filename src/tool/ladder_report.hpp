#pragma once
// The ladder climbed on one problem: every stage judged against the stage before it and against the oracle,
// its costs beside what theory says.

#include <string>

#include "verify/ladder.hpp"
#include "verify/report.hpp"

namespace ringcraft::tool {

// Runs the stages; with `only`, of the rings those in contiguous layout and in this one.
verify::Report climb_ladder(const std::string& title, const Problem& problem, const verify::Inputs& inputs,
                            std::optional<Layout> only = {});

// The report as two tables for people: is each stage right, and what does it cost?
std::string ladder_tables(const verify::Report& report);

}  // namespace ringcraft::tool
