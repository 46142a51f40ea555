#pragma once
/// @file
/// Words that all renderings of a class share: rows without measured times, numbers of points, and words for
/// states.

#include <string>

#include "grade/record/record.hpp"

namespace ringcraft::grade {

/// A row as it is shown: measured times are left out, since a regrade would give others, and what a
/// program printed is cut, so that it hides nothing below it.
verify::ReportRow shown_row(verify::ReportRow row);

/// "2.5".
std::string points_text(double points);
/// "1 point", "2.5 points".
std::string counted_points(double points);

/// "104 Merge".
std::string heading_of(const Exercise& exercise);

/// Bytes of a name where it stands beside others.
inline constexpr std::size_t kShortName = 40;

/// The name of a student, or the key of one without a name; at most `limit` bytes of it.
std::string name_of(const StudentResults& student, std::size_t limit = 120);

/// Why a file has no points yet: the sentence, and what the compiler says.
std::string why_ungradable(const Record& record);

/// A state that is not kGraded, explained to the student in one or two sentences.
std::string explained(State state);

}  // namespace ringcraft::grade
