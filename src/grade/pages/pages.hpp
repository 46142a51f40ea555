#pragma once
/// @file
/// Pages and tables about a graded class, all rendered from ClassResults. Whatever a student wrote (names,
/// files, words of a program) is data: no text becomes markup, a formula of a spreadsheet or an escape
/// sequence. The same results give the same bytes.

#include <string>

#include "grade/record/record.hpp"

namespace ringcraft::grade {

/// The name of the page of the student with this key, "KEY.html", in the folder "students" beside the class
/// page.
std::string student_file(const std::string& key);

/// The name of the page with both texts of a pair, "EXERCISE+ONE+OTHER.html" (no key has a '+'), in the
/// folder "alike" beside the class page.
std::string alike_file(const Alike& pair);

/// A page for one student, self-contained HTML: per exercise the points, what was checked, and for each
/// failed check the symptom, the map of errors, the likely cause and the hint. No seed, no other student.
std::string student_page(const ClassResults& results, const StudentResults& student);

/// The page for the instructor, self-contained HTML: the table of points with links to the students' pages,
/// how often each cause occurred, which checks most students fail, what needs a person, what is alike, and
/// the layers of this host.
std::string class_page(const ClassResults& results);

/// A gradebook: CSV (RFC 4180) with a row per student, or per member of a group, with the id that the
/// course's system gave, a column per exercise and the sum; for exercises of which somebody's late attempt
/// counts, a column with the best of those on time. Cells that a spreadsheet would compute are made
/// plain text.
std::string gradebook_csv(const ClassResults& results);

/// The class's roster with a column for each exercise, which replaces one of the same name: what the course's
/// system exported, for it to import. Cells without a verdict are left as they are. The class has a roster.
std::string roster_csv(const ClassResults& results);

/// JUnit XML: a test suite per student, a test case per check.
std::string junit_xml(const ClassResults& results);

/// All of it for programs, with sorted keys and without a time of day: the same results give the same bytes.
std::string json_of(const ClassResults& results);

/// Gradescope's results.json of one student: one test per check, with its score, maximum, status, and text.
std::string gradescope_json(const ClassResults& results, const StudentResults& student);

}  // namespace ringcraft::grade
