#pragma once
/// @file
/// Beginnings and ends of a scan with their mistakes: how it uses the given state, and what it returns; and
/// laws of scans outside the grammar. Internal to the harness.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/diagnose/exhibit.hpp"
#include "verify/diagnose/twisted/scan.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// Initial m and l of a scan.
struct ScanBegin {
  std::string id, words;
  std::function<ScanState(const ScoreScan&)> of;
};
/// Final m and l of a scan.
struct ScanEnd {
  const char *id, *words;
  std::pair<double, double> (*of)(const ScoreScan& row, const ScanState& end);
};

/// The right one first. A fixed initial maximum is solved for.
std::vector<ScanBegin> scan_begins(const std::vector<const ScoreScan*>& rows);
/// The right one first.
std::span<const ScanEnd> scan_ends();

/// The cause if weights are divided by l + epsilon, the same for all rows.
std::optional<Cause> cause_of_epsilon(const ScanExhibit& exhibit);
/// The cause if weights are never written: which of a row's.
std::optional<Cause> cause_of_unwritten_weights(const std::vector<const ScoreScan*>& rows);
/// The cause if neither m nor l nor a score changes, or if scores change that are read-only.
std::optional<Cause> cause_of_idle_scan(const ScanExhibit& exhibit);
/// The cause if scores of right rows are overwritten.
std::optional<Cause> cause_of_changed_scores(const ScanExhibit& exhibit);
/// The cause if l is right to the digits of float and not beyond.
std::optional<Cause> cause_of_float_scan(const std::vector<const ScoreScan*>& rows);

}  // namespace ringcraft::verify
