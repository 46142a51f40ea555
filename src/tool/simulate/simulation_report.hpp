#pragma once
// The results of a simulation: a table for people, JSON for programs, and theory beside both.

#include <string>
#include <vector>

#include "ringcraft/parallel/simulate.hpp"

namespace ringcraft::tool {

// One pass on one number of ranks, beside theory.
struct PassReport {
  int ranks;
  Pass pass;
  double seconds;         // of the slowest rank
  double exposed;         // the share of it in which ranks wait, on average
  double computing;       // seconds of the rank that computes longest
  int slowest;            // this rank
  Index bytes, messages;  // sent by the rank that sends most
  Index peak;             // bytes of the rank that holds most
  Theory theory;          // of the method, for this pass
  double theory_computing;
  std::string difference;  // from theory, in words; empty: none
};

// The passes of a simulation.
std::vector<PassReport> reports_of(const Simulation& simulation, const Method& method, const Problem& problem,
                                   const MethodOptions& options, const Machine& machine);

// A line for each pass, and below it one of theory.
std::string text_of(const std::vector<PassReport>& reports);

// The same for programs; `what` says what was simulated.
std::string json_of(const std::vector<PassReport>& reports, const Method& method, const Machine& machine,
                    const std::string& what);

}  // namespace ringcraft::tool
