#pragma once
/// @file
/// A submission that is the library's file with some lines changed, and is stored as these: after its first
/// lines, hunks as `diff -U` writes them, without numbers, each with enough context to make it unique.
///   // RF4: the block in hand at step t is taken for that of rank + t.
///   // Fails: causal
///   // Hint: At step t, whose keys are in your hands?
///   @@
///        const int rank = comm.rank();
///   -    const int owner = (rank - t + n) % n;
///   +    const int owner = (rank + t) % n;
/// An edit of another file, of an equivalent one say, names it from its own folder in front of the hunks:
///   --- ../equivalent/304_ring_backward/all_hops.cpp

#include <filesystem>
#include <optional>
#include <string>

#include "judge/build/toolchain.hpp"

namespace ringcraft::judge {

/// The submission that an edit stands for, of the original's text without its marks and the comment lines
/// that it begins with. Throws Error for a hunk whose lines do not stand in the original, or stand there more
/// than once: the original has changed.
std::string applied(const std::string& edit, const std::string& original);

/// A file of the corpus as a student hands it in, as long as this object lives.
class HandedIn {
 public:
  /// The file at this place, "tests/misconceptions/104_merge/average" with its ending or without one; of an
  /// edit the whole file. Throws Error if there is none, or the edit does not apply.
  HandedIn(int lesson, const std::filesystem::path& place);

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::optional<WorkFolder> folder_;  // of a file that an edit stands for
};

}  // namespace ringcraft::judge
