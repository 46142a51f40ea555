#pragma once
/// @file
/// Reads names: a file's says which exercise it is, that of an entry of an export whose it is. Names are
/// bytes that anyone may have chosen.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grade/intake/class_folder.hpp"

namespace ringcraft::grade {

/// The file of a Gradescope export that says whose its folders are.
inline constexpr std::string_view kGradescopeMetadata = "submission_metadata.yml";

/// The parts of an entry's name in an export of Canvas, Moodle or Gradescope.
struct ExportedName {
  std::string student;      ///< "doejohn"; of Gradescope, and of anonymous entries, the id
  std::string id;           ///< "12345"
  std::string rest;         ///< what the student called the file; empty for a folder
  std::uint64_t order = 0;  ///< later files have larger numbers, where the export numbers them
  bool late = false;
  bool id_stays = false;  ///< the same student has the same id in every export
};

/// Reads such a name; none if it has none of the forms.
std::optional<ExportedName> exported_name(std::string_view name);

/// Whether a name is passed over and never mentioned: of version control, builds, editors, systems
/// and of this course.
bool is_passed_over(std::string_view name);

/// The name without its ending ("ada" of "ada.tar.gz"), if it is that of an archive.
std::optional<std::string> stem_of_archive(std::string_view name);

/// Whether it is the name of a header.
bool is_header_name(std::string_view name);

/// Whether something of this name is looked into: an archive, a header, or what may be an exercise.
bool may_matter(std::string_view name, const std::vector<Exercise>& exercises);

/// How a file's name fits that of an exercise's file.
struct Fit {
  std::string before;   ///< what stands in front: "ada_"
  int attempt = 0;      ///< 2 of "merge-2.cpp", 1 of "merge (1).cpp"
  bool as_txt = false;  ///< "merge.cpp.txt"
};

/// How "Ada_merge (1).cpp" fits "merge.cpp"; none if it does not.
std::optional<Fit> fit(std::string_view name, std::string_view file);

/// The name without the number of an attempt: "mine.hpp" of "mine-1.hpp".
std::string without_attempt(const std::string& name);

/// An exercise's file.
struct Identified {
  const Exercise* exercise = nullptr;  ///< null if it is none, or may be that of several
  bool several = false;
  Fit fit = {};
};

/// Which exercise a file is, by its name and the names of the folders around it.
Identified identify(std::string_view name, const std::vector<std::string>& folders,
                    const std::vector<Exercise>& exercises);

/// The safe name of one without a safe letter.
inline constexpr std::string_view kNoName = "student";
/// A safe name for a file, of at most 60 letters, digits, '.', '_' and '-': "ada-lovelace" of "ada lovelace".
std::string safe_name(std::string_view name);

/// In small letters; other bytes stay.
std::string lowered(std::string_view text);

}  // namespace ringcraft::grade
