// Resets an exercise by renaming files; no text is ever deleted.
#include "tool/course/reset.hpp"

#include "judge/build/toolchain.hpp"
#include "judge/verdict/judge.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::tool {
namespace {

namespace fs = std::filesystem;

// Where the n-th file is kept, counted from 1.
fs::path kept(const fs::path& file, int n) {
  return file.string() + ".before-reset" + (n == 1 ? "" : "." + std::to_string(n));
}

int count_kept(const fs::path& file) {
  int n = 0;
  while (fs::exists(kept(file, n + 1))) ++n;
  return n;
}

void renamed(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::rename(from, to, failed);
  if (failed) throw Error("reset", "a folder that can be written", from.string(), "check its permissions");
}

}  // namespace

std::string reset(const Course& course, int lesson) {
  const fs::path file = course.exercise(lesson);
  if (!fs::exists(file)) throw Error("reset: lesson " + std::to_string(lesson) + " is not started");
  if (judge::untouched(lesson, file)) return shown_path(file) + " is as it was given: nothing to reset.\n";
  const fs::path safe = kept(file, count_kept(file) + 1);
  renamed(file, safe);
  try {
    judge::start(lesson, course.folder());
  } catch (...) {
    renamed(safe, file);
    throw;
  }
  return shown_path(file) + " is as it was given. Your text is " + safe.filename().string() +
         "; u puts it back.\n";
}

std::string undo_reset(const Course& course, int lesson) {
  const fs::path file = course.exercise(lesson);
  const int n = count_kept(file);
  if (n == 0) throw Error("undo: nothing was reset in lesson " + std::to_string(lesson));
  const fs::path safe = kept(file, n);
  if (!fs::exists(file) || judge::untouched(lesson, file)) {
    renamed(safe, file);
    return "Your text is back in " + shown_path(file) + ".\n";
  }
  const fs::path between = file.string() + ".between";
  renamed(file, between);
  renamed(safe, file);
  renamed(between, safe);
  return "Your text is back in " + shown_path(file) + "; what stood there is " + safe.filename().string() +
         " (u changes them again).\n";
}

}  // namespace ringcraft::tool
