#pragma once
/// @file
/// Rows of reports, and the top of the source tree, for tests.

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "support/catch.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::judge {

inline const std::filesystem::path kRoot = RINGCRAFT_SOURCE_DIR;

/// Ids of the checks that failed: "104.two-halves".
inline std::set<std::string> failed(const verify::Report& report) {
  std::set<std::string> ids;
  for (const verify::ReportRow& row : report.rows)
    if (row.status == verify::Status::kFailed) ids.insert(row.id);
  return ids;
}

/// The row of this id, which must be there.
inline const verify::ReportRow& row(const verify::Report& report, const std::string& id) {
  const auto found = std::ranges::find(report.rows, id, &verify::ReportRow::id);
  REQUIRE(found != report.rows.end());
  return *found;
}

}  // namespace ringcraft::judge
