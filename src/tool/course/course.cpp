// The road, the state of every lesson, and the choice of the next one.
#include "tool/course/course.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "judge/puzzle/puzzle.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::tool {
namespace {

std::string painted(std::string_view text, State state, verify::Colour colour) {
  if (colour == verify::Colour::kPlain || (state != State::kStarted && state != State::kDone))
    return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", state == State::kDone ? 32 : 33, text);
}

}  // namespace

std::string_view name_of(State state) {
  switch (state) {
    case State::kToCome:
      return "to come";
    case State::kAbsent:
      return "absent";
    case State::kHere:
      return "here";
    case State::kStarted:
      return "started";
    case State::kDone:
      return "done";
  }
  return "?";
}

const std::filesystem::path& source_root() {
  static const std::filesystem::path root = RINGCRAFT_SOURCE_DIR;
  return root;
}

std::filesystem::path workspace() {
  const char* named = std::getenv("RINGCRAFT_WORKSPACE");
  return named != nullptr && *named != '\0' ? std::filesystem::absolute(named) : source_root() / "exercises";
}

Course::Course(std::filesystem::path workspace)
    : workspace_(std::move(workspace)), here_(judge::lessons()), progress_(workspace_ / "progress.txt") {
  std::erase_if(here_, [](const judge::LessonInfo& lesson) { return !lesson.checkable; });
}

const judge::RoadLine& Course::line(int lesson) const {
  const auto found = std::ranges::find(judge::road(), lesson, &judge::RoadLine::number);
  if (found == judge::road().end())
    throw Error("lesson", "a number of the road", std::to_string(lesson), "see ./ringcraft lessons");
  return *found;
}

const judge::LessonInfo& Course::info(int lesson) const {
  const auto found = std::ranges::find(here_, lesson, &judge::LessonInfo::number);
  if (found == here_.end() && state(lesson) == State::kAbsent)
    throw Error("lesson " + std::to_string(lesson), "a build that runs CUDA kernels on the CPU", "this one",
                "install libboost-context-dev", Code::kMissing);
  if (found == here_.end()) {
    const auto planned = std::ranges::find(judge::road(), lesson, &judge::RoadLine::number);
    throw Error("lesson", "a lesson that is here",
                std::to_string(lesson) +
                    (planned == judge::road().end() ? "" : ", which is to come: " + planned->title),
                "see ./ringcraft lessons");
  }
  return *found;
}

State Course::state(int lesson) const {
  const auto is_in = [=](const std::vector<judge::LessonInfo>& lessons) {
    return std::ranges::find(lessons, lesson, &judge::LessonInfo::number) != lessons.end();
  };
  if (!is_in(here_)) return is_in(judge::lessons()) ? State::kAbsent : State::kToCome;
  return state(std::to_string(lesson), exercise(lesson));
}

State Course::state(const std::string& id, const std::filesystem::path& file) const {
  if (progress_.done(id, fingerprint_of(file))) return State::kDone;
  return std::filesystem::exists(file) ? State::kStarted : State::kHere;
}

int Course::here() const { return static_cast<int>(here_.size()); }

int Course::done() const {
  return static_cast<int>(std::ranges::count_if(
      here_, [&](const judge::LessonInfo& lesson) { return state(lesson.number) == State::kDone; }));
}

std::optional<int> Course::next(int after) const {
  std::optional<int> earlier;
  for (const judge::RoadLine& each : judge::road()) {
    const State now = state(each.number);
    if (now == State::kToCome || now == State::kAbsent || now == State::kDone) continue;
    if (each.number > after) return each.number;
    if (!earlier && each.number != after) earlier = each.number;
  }
  if (!earlier && after != 0 && state(after) != State::kDone) return after;  // it alone is left
  return earlier;
}

template <class Holds>
std::optional<int> Course::youngest(bool with_puzzles, Holds holds) const {
  std::optional<int> youngest;
  std::filesystem::file_time_type newest;
  const auto look_at = [&](int lesson, const std::filesystem::path& file) {
    std::error_code missing;
    const auto time = std::filesystem::last_write_time(file, missing);
    if (missing || (youngest && time <= newest) || !holds(lesson)) return;
    youngest = lesson;
    newest = time;
  };
  for (const judge::LessonInfo& lesson : here_) look_at(lesson.number, exercise(lesson.number));
  if (with_puzzles)
    for (const judge::Puzzle& puzzle : judge::puzzles())
      look_at(puzzle.lesson(), judge::puzzle_file(puzzle, workspace_));
  return youngest;
}

std::optional<int> Course::latest() const {
  return youngest(false, [](int) { return true; });
}

std::optional<int> Course::under_way() const {
  return youngest(true, [&](int lesson) {
    const State now = state(lesson);
    return now == State::kStarted || now == State::kHere;
  });
}

std::optional<int> Course::next() const {
  const auto at_hand = under_way();
  return at_hand ? at_hand : next(latest().value_or(1) - 1);
}

std::filesystem::path Course::exercise(int lesson) const {
  return judge::exercise_file(info(lesson).number, workspace_);
}

std::filesystem::path Course::reading(const std::string& id) const {
  std::filesystem::path folder = source_root() / "lessons" / info(lesson_of(id)).name;
  if (id.size() > 4) folder = folder / "puzzles" / id.substr(4);
  if (!std::filesystem::exists(folder / "README.md"))
    throw Error("lesson", "an exercise that is here", shown(id), "see ./ringcraft lessons");
  return folder / "README.md";
}

std::optional<std::string> Course::id_of(const std::filesystem::path& file) const {
  const auto found =
      std::ranges::find(here_, file.parent_path().filename().string(), &judge::LessonInfo::name);
  if (found == here_.end()) return std::nullopt;
  const std::string lesson = std::to_string(found->number);
  if (file == exercise(found->number) || file.extension() == ".hpp" || file.extension() == ".cuh" ||
      file.extension() == ".h")
    return lesson;
  const auto side = source_root() / "lessons" / found->name / "puzzles" / file.stem();
  if (!std::filesystem::exists(side)) return std::nullopt;
  return lesson + "." + file.stem().string();
}

int lesson_of(const std::string& id) {
  const std::string digits = id.substr(0, id.find('.'));
  if (digits.size() != 3 || digits.find_first_not_of("0123456789") != digits.npos ||
      id.substr(digits.size()).find('/') != id.npos || id.size() == 4)
    throw Error("lesson", "a number of the road, such as 104", shown(id), "see ./ringcraft lessons");
  return std::stoi(digits);
}

std::string shown_path(const std::filesystem::path& path) {
  const auto inside = path.lexically_relative(source_root());
  return shown((inside.empty() || *inside.begin() == ".." ? path : inside).string(), 200);
}

std::string title_of(const Course& course, const std::string& id) {
  return id.size() > 3 ? id : id + " " + course.line(lesson_of(id)).title;
}

std::string lesson_text(const Course& course, int lesson, const std::string& then) {
  const std::string id = std::to_string(lesson), function = course.info(lesson).function;
  const bool done = course.state(lesson) == State::kDone;
  const std::string task = function.empty() ? "" : (done ? ": " : ": write the body of ") + function;
  return fmt::format("{} ({})\n  {}\n  reading  {}\n  yours    {}{}\n  then     {}\n", title_of(course, id),
                     name_of(course.state(lesson)), course.line(lesson).line, shown_path(course.reading(id)),
                     shown_path(course.exercise(lesson)), task, then);
}

namespace {

// A side exercise, below its lesson.
std::string puzzle_line(const Course& course, const judge::Puzzle& puzzle, verify::Colour colour) {
  const State state = course.state(puzzle.id, judge::puzzle_file(puzzle, course.folder()));
  return fmt::format("       {}  {:26} {}: {}\n", painted(fmt::format("{:7}", name_of(state)), state, colour),
                     puzzle.id, puzzle.kind, puzzle.title);
}

}  // namespace

std::string road_text(const Course& course, verify::Colour colour) {
  std::string text, chapter;
  for (const judge::RoadLine& line : judge::road()) {
    if (line.chapter != chapter) text += (chapter.empty() ? "" : "\n") + line.chapter + "\n";
    chapter = line.chapter;
    const State state = course.state(line.number);
    text += fmt::format("  {}  {}  {:26} {}\n", line.number,
                        painted(fmt::format("{:7}", name_of(state)), state, colour), line.title, line.line);
    for (const judge::Puzzle& puzzle : judge::puzzles())
      if (puzzle.lesson() == line.number) text += puzzle_line(course, puzzle, colour);
  }
  if (std::ranges::any_of(judge::road(), [&](const judge::RoadLine& line) {
        return course.state(line.number) == State::kAbsent;
      }))
    text += "\nabsent: this build runs no kernels on the CPU; install libboost-context-dev\n";
  text += fmt::format("\n{} of {} lessons done.", course.done(), course.here());
  const auto next = course.next();
  if (!next) return text + " " + what_next(course, 0);
  text += fmt::format(" Next: {} (./ringcraft next)\n", title_of(course, std::to_string(*next)));
  if (course.done() == 0)
    text += "Begin there or where you like (./ringcraft start N); a reading is lessons/NNN_name/README.md.\n";
  return text;
}

int after(const std::string& id) { return lesson_of(id) - (id.size() > 3 ? 1 : 0); }

std::string what_next(const Course& course, int after) {
  const auto at_hand = course.under_way();
  const auto next = at_hand ? at_hand : course.next(after);
  if (!next)
    return fmt::format(
        "All {} lessons that are here are done. You have built a ring; ./ringcraft run climbs it, and "
        "docs/pages leads through the rest of the code.\n",
        course.here());
  const bool started = course.state(*next) == State::kStarted;
  const std::string id = std::to_string(*next);
  return fmt::format("Next: {}\n  reading  {}\n  then     ./ringcraft {} {}\n", title_of(course, id),
                     shown_path(course.reading(id)), started ? "check" : "start", id);
}

Attempt::Attempt(std::string id, std::filesystem::path file)
    : id_(std::move(id)), print_(fingerprint_of(file)), file_(std::move(file)) {}

void Attempt::finished(const verify::Report& report) const {
  const bool unchanged = fingerprint_of(file_) == print_;
  try {
    Course course(workspace());
    if (!report.good() || report.points() != report.all_points()) {
      if (unchanged) course.progress().add_failed(id_, print_);
      return;
    }
    course.progress().add_passed(id_, unchanged ? print_ : "");
    std::fputs(what_next(course, after(id_)).c_str(), stdout);
  } catch (const Error& error) {  // the verdict is still valid
    std::fprintf(stderr, "ringcraft: your progress is not saved: %s\n", shown(error.what(), 4000).c_str());
  }
}

}  // namespace ringcraft::tool
