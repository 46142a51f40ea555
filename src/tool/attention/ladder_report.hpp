#pragma once
// Climbs the ladder on one problem: compares every stage with the stage before it and with the oracle, and
// its costs with theory.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "verify/ladder/ladder.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::tool {

// The figure of a row that covers only the first tokens: how many.
inline constexpr const char* kFirstTokens = "first tokens";

// The outcome of a stage that a student's code runs.
struct Climbed {
  verify::StageResult result;
  std::string obstacle;  // the reason why there is no result; empty if there is one
  bool silent = false;   // the obstacle: it did not return in time
};

// The code that runs the stages, if not the library in this process.
struct Climber {
  // `oracle_seconds`: the oracle's time on the shared problem.
  std::function<Climbed(const verify::Stage&, const Problem&, const verify::Inputs&, double oracle_seconds)>
      climb;
  std::function<std::vector<int>(const verify::Stage&)>
      yours;  // lessons of the stage whose files are the student's
};

// Runs the stages; with `only`, of the rings those in contiguous layout and in this one. A stage is compared
// with the stage before it, or where that failed with the oracle alone. A stage of a `climber` that does not
// end normally is a failed row; after one that hung, those that run all of the same lessons are not tried.
verify::Report climb_ladder(const std::string& title, const Problem& problem, const verify::Inputs& inputs,
                            std::optional<Layout> only = {}, const Climber& climber = {});

// The same for these stages, the first of which is verify's first, dense attention: what a float32 stage is
// measured by.
verify::Report climb_stages(const std::string& title, std::span<const verify::Stage> stages,
                            const Problem& problem, const verify::Inputs& inputs,
                            const Climber& climber = {});

// The report as two tables for people: the verdict on each stage, and its costs.
std::string ladder_tables(const verify::Report& report);

}  // namespace ringcraft::tool
