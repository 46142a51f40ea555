#pragma once
// The student's progress: exercises/progress.txt, plain lines that a person may read, reorder and merge.
//
//     104 passed 9f3ac2b5d1e07c48      full points, with a file of this fingerprint
//     104 failed 03b1c6a2f7d84e95      after that: less than full points, with a file of this fingerprint
//     104 hint 2                       two hints have been shown
//
// A line is a fact that stays true, so two machines merge by putting their lines together: duplicates,
// another order and line ends of another system change nothing. Unknown lines are kept
// unchanged.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ringcraft::tool {

// 16 hexadecimal digits that change with any byte of the text (FNV-1a). They detect mistakes, not attacks.
std::string fingerprint(std::string_view text);

// The same of a file; empty if there is none.
std::string fingerprint_of(const std::filesystem::path& file);

class ProgressFile {
 public:
  // Reads the file; a missing one counts as empty. Throws Error if it is there and cannot be read.
  explicit ProgressFile(std::filesystem::path path);

  // Whether an exercise ("104") has passed with full points, ever; or with a file of this fingerprint.
  bool passed(std::string_view id) const;
  bool passed_with(std::string_view id, std::string_view print) const;
  // Whether it has passed, and a file of this fingerprint, which may be another one by now, has not failed.
  bool done(std::string_view id, std::string_view print) const;
  // How many hints have been shown; 0 to begin with.
  int hints(std::string_view id) const;

  // Add a fact, unless it is known, and write the file. An empty fingerprint says nothing about the file.
  // A failure is a fact of an exercise that has passed before.
  // Lines that another program added meanwhile are kept. Throw Error if the file cannot be written; the old
  // one stays whole then.
  void add_passed(const std::string& id, const std::string& print);
  void add_failed(const std::string& id, const std::string& print);
  void add_hints(const std::string& id, int shown);

 private:
  void read();
  bool has(std::string_view id, std::string_view word, std::string_view print) const;
  void add(const std::string& line);

  std::filesystem::path path_;
  std::vector<std::string> lines_;
};

}  // namespace ringcraft::tool
