#pragma once
/// @file
/// Goes through what one student has handed in, and copies what is to be judged.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grade/intake/class_folder.hpp"
#include "grade/intake/tree.hpp"

namespace ringcraft::grade {

/// Something of a student's, as it lies in the folder of the class.
struct Entry {
  Node node;        ///< its name: as the student called it
  bool own = true;  ///< the student's own folder or archive, and no file among several
  bool late = false;
  std::uint64_t order = 0;  ///< of uploads
  std::optional<std::int64_t> handed_in = {};
  std::vector<std::string> folders = {};  ///< around it: their names may say which exercise it is
};

/// Reads all entries of a student: fills in hand_ins and remarks. Copies lie in `scratch`/KEY/NUMBER, each
/// file under the name that its exercise gives it, with the headers that were beside it.
void read_student(Student& student, const std::vector<Entry>& entries, Tree& tree,
                  const std::filesystem::path& scratch, const std::vector<Exercise>& exercises,
                  const IntakeLimits& limits);

}  // namespace ringcraft::grade
