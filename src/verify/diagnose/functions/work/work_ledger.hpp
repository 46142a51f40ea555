#pragma once
/// @file
/// One ledger of a ring's work in the form that the diagnosis uses.

#include <optional>

#include "verify/diagnose/exhibit.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

using WorkTable = std::vector<std::vector<Index>>;  // [steps][ranks]

/// A returned ledger, with the right one.
struct LedgerView {
  const Problem* problem;
  const RingWork* work;
  WorkTable right;  ///< the right table
  WorkTable table;  ///< the table that figures derive from: the student's own if it has an entry per rank

  int ranks() const { return problem->world_size; }
};

/// Why the table is wrong: which queries and keys its entries count, and how many steps it has.
std::vector<Cause> causes_of_table(const std::vector<LedgerView>& ledgers);
/// Why imbalance is wrong: another measure of unevenness.
std::optional<Cause> cause_of_imbalance(const std::vector<LedgerView>& ledgers);
/// Why a figure is wrong: the number derived from the table instead.
std::vector<Cause> causes_of_figures(const std::vector<LedgerView>& ledgers);

}  // namespace ringcraft::verify
