#pragma once
// The course as the student's tools see it: the road, its available lessons, and the student's progress.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "judge/checks/road.hpp"
#include "judge/verdict/judge.hpp"
#include "tool/course/progress.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::tool {

// The state of a lesson: whether it is available, started or done.
enum class State {
  kToCome,
  kAbsent,  // it is there, but this build cannot judge it: a kernel, without the host executor
  kHere,
  kStarted,
  kDone
};

// "to come", "absent", "here", "started" or "done".
std::string_view name_of(State state);

// The project's folder, and the student's: exercises/ in it, or the folder that RINGCRAFT_WORKSPACE names.
const std::filesystem::path& source_root();
std::filesystem::path workspace();

class Course {
 public:
  // Reads the progress.
  explicit Course(std::filesystem::path workspace = tool::workspace());

  // Throws Error for a number that the road does not have.
  const judge::RoadLine& line(int lesson) const;
  State state(int lesson) const;
  // The same of an exercise that can be judged, with the student's file of it.
  State state(const std::string& id, const std::filesystem::path& file) const;
  // Lessons that are here, and those of them that are done.
  int here() const;
  int done() const;
  // The first lesson that is here and not done, of those after `after` on the road and then from its
  // beginning; nothing if all are done.
  std::optional<int> next(int after) const;
  // Where the student goes on: the lesson under way, else the first one after the last that is done.
  std::optional<int> next() const;
  // Of the lessons that are not done, the one whose exercise or side exercise was changed last; nothing if
  // none is started.
  std::optional<int> under_way() const;
  // The started lesson whose file was changed last; nothing if none is started.
  std::optional<int> latest() const;

  // The paths of an available lesson. Throw Error for any other.
  const judge::LessonInfo& info(int lesson) const;
  std::filesystem::path exercise(int lesson) const;  // WORKSPACE/104_merge/merge.cpp
  // The reading of a lesson ("104") or of one of its side exercises ("301.deadlock"); hints/ lies beside it.
  std::filesystem::path reading(const std::string& id) const;
  // The exercise that a file of the workspace belongs to: "104" for the exercise and for headers beside it,
  // "301.deadlock" for a side exercise; nothing for anything else.
  std::optional<std::string> id_of(const std::filesystem::path& file) const;
  const std::filesystem::path& folder() const { return workspace_; }
  ProgressFile& progress() { return progress_; }
  const ProgressFile& progress() const { return progress_; }

 private:
  // The lesson with the youngest file, of those for which this holds; with its side exercises or without.
  template <class Holds>
  std::optional<int> youngest(bool with_puzzles, Holds holds) const;

  std::filesystem::path workspace_;
  std::vector<judge::LessonInfo> here_;
  ProgressFile progress_;
};

// A path as a person types it in the project's folder.
std::string shown_path(const std::filesystem::path& path);

// The lesson of an id: 301 of "301" and of "301.deadlock". Throws Error for anything else.
int lesson_of(const std::string& id);

// "104 Merge", or "301.deadlock".
std::string title_of(const Course& course, const std::string& id);

// A lesson: its subject, the paths of its reading and of the student's file, and the next step.
std::string lesson_text(const Course& course, int lesson, const std::string& then);

// The road with the student's progress, for a terminal.
std::string road_text(const Course& course, verify::Colour colour);

// The next thing to do after a lesson or one of its side exercises ("301.deadlock": the lesson itself, if it
// is not done), as a lesson's number for `after`.
int after(const std::string& id);

// The next lesson's announcement: its title, its command and its reading. It is the one under way, else the
// next after `after`; at the end of the road, a closing word.
std::string what_next(const Course& course, int after);

// One attempt at an exercise, from before the check to after it.
class Attempt {
 public:
  // Takes the fingerprint of the file that will be judged.
  Attempt(std::string id, std::filesystem::path file);

  // Writes the result of the file to the progress; prints the next exercise after full points.
  void finished(const verify::Report& report) const;

 private:
  std::string id_, print_;
  std::filesystem::path file_;
};

}  // namespace ringcraft::tool
