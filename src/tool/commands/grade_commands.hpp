#pragma once
// Actions of the commands that grade a class, without their flags (grade_flags.cpp). Programs other than
// ringcraft-grader have grade_absent.cpp instead of them. All return the exit code and throw ringcraft::Error
// for any failure.

#include <string>
#include <vector>

namespace ringcraft::tool {

struct GradeRequest {
  std::string folder;                // what was handed in
  std::string out = "grades";        // verdicts, reports and tables
  std::string lessons;               // 101-103,201; empty: those that anyone has handed in
  bool side_exercises = false;       // also theirs
  std::string title;                 // of the class; empty: the folder's name
  std::string roster;                // CSV with a line for everyone in the class
  std::string seed;                  // 32 hexadecimal digits; empty: the folder's, or a new one
  int jobs = 0;                      // files at a time; 0: one for each processor
  std::vector<std::string> without;  // layers that may be missing
  bool again = false;                // judge also what has a verdict
  std::string submission;            // Gradescope's JSON about it: the folder is one student's
  std::string results;               // Gradescope's results.json, written again after each file
  std::string seed_file;             // it holds the seed, which other users would see in the call
  std::string explain;               // "ada:104.identity": only this check, with all that is known of it
};
int grade(const GradeRequest& request);

struct GradescopeRequest {
  std::string lessons;                 // 101-103,201
  std::string out = "autograder.zip";  // must not be there
  std::string seed;                    // 32 hexadecimal digits; empty: drawn where it is set up
};
// Writes the archive of an autograder for Gradescope.
int gradescope(const GradescopeRequest& request);

// The layers of this host.
int doctor();

}  // namespace ringcraft::tool
