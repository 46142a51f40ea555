#pragma once
/// @file
/// Reads what a class has handed in: a folder with one folder, file or archive per student, as Canvas,
/// Moodle, Gradescope and GitHub Classroom export them. Nothing of it is trusted: no link is followed, an
/// archive is unpacked under limits into a folder of ours, and no mistake of one student stops the others.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grade/intake/metadata.hpp"

namespace ringcraft::grade {

/// An exercise that a class was given, and the file that it is handed in as.
struct Exercise {
  std::string id;      ///< "104", or "301.deadlock"
  std::string title;   ///< "Merge"
  std::string folder;  ///< of the workspace: "104_merge"
  std::string file;    ///< its name there: "merge.cpp"
};

/// One file of one student for one exercise.
struct HandIn {
  std::string exercise;        ///< Exercise::id
  std::filesystem::path file;  ///< to be judged; empty if it was refused
  std::string name;            ///< as it was handed in, for sentences: "exercises/104_merge/merge.cpp"
  std::optional<std::int64_t> handed_in = {};  ///< seconds since 1970, where the export says so
  bool late = false;                           ///< the export calls it late
  std::string refusal = {};                    ///< why it cannot be judged, in one sentence; empty if it can
  std::string refusal_code = {};               ///< the kind of refusal, "link": the same for every wording
};

/// One student, with all attempts.
struct Student {
  std::string key;                  ///< unique in the class; a safe file name: letters, digits, '.', '_', '-'
  std::string name;                 ///< as the export shows it; any text
  std::vector<Person> people = {};  ///< one, or those of a group
  std::vector<HandIn> hand_ins = {};      ///< by exercise, then from the first attempt to the last
  std::vector<std::string> remarks = {};  ///< files that were passed over, and why; one sentence each
};

/// All that was handed in.
struct ClassFolder {
  std::vector<Student> students;          ///< by key
  std::vector<std::string> remarks = {};  ///< about the folder: entries that belong to no student
};

/// The limits of what one student may hand in.
struct IntakeLimits {
  std::uintmax_t file_bytes = 256 << 10;  ///< of one file that is judged
  std::uintmax_t total_bytes = 64 << 20;  ///< of an archive, unpacked
  std::size_t files = 2000;               ///< of a student: those beyond are not looked at
};

/// Reads `folder`. A hand-in belongs to the exercise whose folder and file name its path ends in
/// (".../104_merge/merge.cpp"), else to the one exercise that has a file of this name, alone or after what
/// an export puts in front ("doejohn_123_456_merge.cpp", "merge-2.cpp"). Archives are unpacked below
/// `scratch`, which the caller makes and removes. Throws Error if `folder` cannot be read or holds no
/// student.
ClassFolder read_class(const std::filesystem::path& folder, const std::filesystem::path& scratch,
                       const std::vector<Exercise>& exercises, const IntakeLimits& limits = {});

/// Reads what one student, or one group, has handed in: a folder or an archive, in which hand-ins and
/// exercises are told apart as by read_class. Throws Error if `folder` cannot be read.
ClassFolder read_one(const std::filesystem::path& folder, const Submission& whose,
                     const std::filesystem::path& scratch, const std::vector<Exercise>& exercises,
                     const IntakeLimits& limits = {});

}  // namespace ringcraft::grade
