#pragma once
/// @file
/// How a scan takes up the state that it is given, and what it hands out in the end, with their mistakes; and
/// laws of scans that no grammar has. Not for users of the harness.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/diagnose/exhibit.hpp"
#include "verify/diagnose/twisted/scan.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// m and l with which a scan begins.
struct ScanBegin {
  std::string id, words;
  std::function<ScanState(const ScoreScan&)> of;
};
/// What is made of m and l in the end.
struct ScanEnd {
  const char *id, *words;
  std::pair<double, double> (*of)(const ScoreScan& row, const ScanState& end);
};

/// The right one first. A fixed number with which the maximum begins is solved for.
std::vector<ScanBegin> scan_begins(const std::vector<const ScoreScan*>& rows);
/// The right one first.
std::span<const ScanEnd> scan_ends();

/// The weights are divided by l + epsilon, the same for all rows.
std::optional<Cause> cause_of_epsilon(const ScanExhibit& exhibit);
/// Weights that are never written: which of a row's.
std::optional<Cause> cause_of_unwritten_weights(const std::vector<const ScoreScan*>& rows);
/// Neither m nor l nor a score is changed, or scores are that are only to be read.
std::optional<Cause> cause_of_idle_scan(const ScanExhibit& exhibit);
/// Of rows that are right.
std::optional<Cause> cause_of_changed_scores(const ScanExhibit& exhibit);
/// l is right to the digits of float and not beyond.
std::optional<Cause> cause_of_float_scan(const std::vector<const ScoreScan*>& rows);

}  // namespace ringcraft::verify
