#pragma once
/// @file
/// A submission that is the library's file with some lines changed, and is stored as these: after its first
/// lines, hunks as `diff -U` writes them, without numbers, each with as much around it as makes it unique.
///   // RF4: the block in hand at step t is taken for that of rank + t.
///   // Fails: causal
///   // Hint: At step t, whose keys are in your hands?
///   @@
///        const int rank = comm.rank();
///   -    const int owner = (rank - t + n) % n;
///   +    const int owner = (rank + t) % n;

#include <filesystem>
#include <string>
#include <vector>

namespace ringcraft::judge {

/// The library's text as edits see it: without the comment lines that it begins with, and those of its marks.
std::vector<std::string> edited_lines(const std::string& library);

/// The submission that an edit stands for. Throws Error for a hunk whose lines do not stand in the library's
/// text, or stand there more than once: the library has changed.
std::string applied(const std::string& edit, const std::string& library);

/// A file of the corpus as a student hands it in, as long as this object lives.
class HandedIn {
 public:
  /// The file at this place, "tests/misconceptions/104_merge/average" with its ending or without one; of an
  /// edit the whole file, which is written below `folder`. Throws Error if there is none, or the edit does
  /// not apply.
  HandedIn(int lesson, const std::filesystem::path& place, const std::filesystem::path& folder);
  ~HandedIn();
  HandedIn(const HandedIn&) = delete;
  HandedIn& operator=(const HandedIn&) = delete;

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_, written_;  // written_: its folder, if it was
};

}  // namespace ringcraft::judge
