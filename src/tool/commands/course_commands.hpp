#pragma once
// Actions of the course's commands, without their flags (course_flags.cpp): lessons.cpp, student.cpp,
// export.cpp, watch.cpp and mine.cpp. The program ringcraft-attention has course_absent.cpp instead of
// them. All return the exit code and throw ringcraft::Error for any failure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ringcraft::tool {

// The road: all lessons, and the ones that the student has started.
int show_lessons();

// Writes the file of a lesson ("104") or a side exercise ("301.deadlock"); only the latter takes a seed.
int start(const std::string& id, std::optional<std::uint64_t> seed);

struct CheckRequest {
  std::string id;  // empty: the exercise that was changed last
  bool debug = false;
  bool all = false;                        // every row in full, not only the first that failed
  std::string seed;                        // of all inputs; "-": from the input; empty: chosen at random
  std::string json;                        // also write the verdict there; empty: do not
  std::string file;                        // judge this one; empty: the student's own in the workspace
  bool confidential = false;               // repeat nothing that the file prints or throws
  std::optional<unsigned> children_as;     // the user that compiles and runs it; none: this one
};
// Judges the student's file: a kernel on the CPU, and if all is right there and this machine has a GPU, in
// the ladder's stages on it.
int check(const CheckRequest& request);

// Starts the lesson at hand if it is not done, else the next one that is not.
int next();

// One more hint for a lesson or side exercise; empty: for the one that was changed last.
int hint(const std::string& id);

// The student's file beside the library's.
int diff(int lesson);

// Watch mode: the student writes in an editor, and every save is checked at once. Runs until the student
// quits. Throws Error without a terminal. RINGCRAFT_POLLING=1 polls the files instead of asking the kernel.
int watch();

struct ExportRequest {
  std::string folder, solved;
  bool objects = false;
};
// Writes a tree for students.
int export_tree(const ExportRequest& request);

}  // namespace ringcraft::tool
