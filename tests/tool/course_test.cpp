// The road with a student on it: states, the next lesson, hints, the diff after a pass, and resets.
#include "tool/course/course.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "judge/puzzle/puzzle.hpp"
#include "ringcraft/core/error.hpp"
#include "support/catch.hpp"
#include "tool/course/hints.hpp"
#include "tool/course/own_and_library.hpp"
#include "tool/course/reset.hpp"
#include "tool/terminal/columns.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;
using tool::Course;
using tool::State;

namespace {

std::string thrown_by(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The library's file of a lesson as a student would have written it.
std::string solution(const Course& course, int lesson) {
  std::istringstream lines(contents((tool::source_root() / course.info(lesson).source).string()));
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (!has(line, "SOLUTION")) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("a lesson is here, started, done, and what is next follows the road") {
  const Folder folder;
  Course course(folder.file(""));
  CHECK(course.state(104) == State::kHere);
  CHECK(course.state(207) == State::kToCome);
  const auto all = judge::lessons();
  const auto kernels = std::ranges::find(all, 201, &judge::LessonInfo::number);
  CHECK(course.state(201) == (kernels->checkable ? State::kHere : State::kAbsent));
  CHECK(course.next() == 101);
  CHECK_FALSE(course.latest());
  judge::start(104, course.folder());
  CHECK(course.state(104) == State::kStarted);
  CHECK(course.latest() == 104);
  CHECK(course.next(104) == 105);
  course.progress().add_passed("101", "aa");
  CHECK(course.state(101) == State::kDone);
  CHECK(course.next() == 104);  // the one at hand
  course.progress().add_passed("104", "aa");
  CHECK(course.next() == 105);
  CHECK(course.next(403) == 404);
  const auto last = std::ranges::find_if(all.rbegin(), all.rend(), &judge::LessonInfo::checkable);
  CHECK(course.next(last->number) == 102);                 // after the last lesson the road begins again
  CHECK(course.next(tool::after("301.deadlock")) == 301);  // its lesson, which is still to be done
  CHECK(course.next(tool::after("301")) == 302);
  CHECK(course.done() == 2);
}

TEST_CASE("the lesson under way is next: started last, by its exercise or a side exercise") {
  const Folder folder;
  Course course(folder.file(""));
  CHECK_FALSE(course.under_way());
  judge::start_puzzle("404.corner", course.folder());
  CHECK(course.under_way() == 404);
  CHECK(course.next() == 404);
  CHECK(has(tool::road_text(course, verify::Colour::kPlain), "Next: 404 "));
  judge::start(405, course.folder());
  const auto later = std::filesystem::last_write_time(course.exercise(405)) + std::chrono::seconds(5);
  std::filesystem::last_write_time(course.exercise(405), later);
  CHECK(course.next() == 405);
  course.progress().add_passed("405", "");
  CHECK(course.latest() == 405);
  CHECK(course.next() == 404);  // and not the first of all, 101
  CHECK(has(tool::what_next(course, 405), "Next: 404 "));
  course.progress().add_passed("404", "");
  CHECK_FALSE(course.under_way());
  CHECK(course.next() == 501);  // the road goes on after the last one
}

TEST_CASE("the lesson changed last is the one whose file is youngest") {
  const Folder folder;
  const Course course(folder.file(""));
  for (const int lesson : {101, 104, 303}) judge::start(lesson, course.folder());
  const auto now = std::filesystem::last_write_time(course.exercise(303));
  std::filesystem::last_write_time(course.exercise(104), now + std::chrono::seconds(5));
  CHECK(course.latest() == 104);
}

TEST_CASE("at the end of the road nothing is next, and a word says so") {
  const Folder folder;
  Course course(folder.file(""));
  int last = 0;
  for (const auto& line : judge::road())
    if (course.state(line.number) == State::kHere) {
      if (last != 0) course.progress().add_passed(std::to_string(last), "");
      last = line.number;
    }
  CHECK(course.next() == last);
  CHECK(course.next(last) == last);  // it alone is left
  CHECK(has(tool::what_next(course, 0), "./ringcraft start " + std::to_string(last)));
  course.progress().add_passed(std::to_string(last), "");
  CHECK_FALSE(course.next());
  CHECK_FALSE(course.next(101));
  CHECK(has(tool::what_next(course, last), "All " + std::to_string(course.here()) + " lessons"));
}

TEST_CASE("the road shows states, how many lessons are done, and the next one") {
  const Folder folder;
  Course course(folder.file(""));
  course.progress().add_passed("101", "");
  judge::start(103, course.folder());
  const std::string text = tool::road_text(course, verify::Colour::kPlain);
  CHECK(has(text, "  101  done "));
  CHECK(has(text, "  102  here "));
  CHECK(has(text, "  103  started "));
  CHECK(has(text, "  207  to come "));
  CHECK(has(text, "this build runs no kernels") == (course.state(201) == State::kAbsent));
  CHECK(has(text, "       here     301.deadlock "));
  judge::start_puzzle("301.deadlock", course.folder());
  CHECK(has(tool::road_text(course, verify::Colour::kPlain), "       started  301.deadlock "));
  course.progress().add_passed("301.deadlock", "");
  CHECK(has(tool::road_text(course, verify::Colour::kPlain), "       done     301.deadlock "));
  CHECK(has(text, "1 of " + std::to_string(course.here()) + " lessons done. Next: 103 Online softmax"));
}

TEST_CASE("a file of the workspace belongs to its lesson or to a side exercise of it") {
  const Course course("/home/me/exercises");
  CHECK(course.id_of("/home/me/exercises/104_merge/merge.cpp") == "104");
  CHECK(course.id_of("/home/me/exercises/104_merge/mine.hpp") == "104");
  CHECK_FALSE(course.id_of("/home/me/exercises/104_merge/notes.txt"));
  CHECK_FALSE(course.id_of("/home/me/exercises/notes/merge.cpp"));
}

TEST_CASE("hints come one by one, stay, and are remembered") {
  const Folder folder;
  Course course(folder.file(""));
  const std::string first = tool::next_hint(course, "104", 80);
  CHECK(has(first, "hint 1 of 3"));
  CHECK_FALSE(has(first, "hint 2 of 3"));
  Course later(folder.file(""));
  const std::string second = tool::next_hint(later, "104", 80);
  CHECK(second.find("hint 1 of 3") < second.find("hint 2 of 3"));
  (void)tool::next_hint(later, "104", 80);
  later.progress().add_passed("104", "");  // after success, too
  const std::string all = tool::next_hint(later, "104", 80);
  CHECK(has(all, "hint 3 of 3"));
  CHECK(has(all, "These are all hints"));
  CHECK(later.progress().hints("104") == 3);
  CHECK(later.progress().hints("303") == 0);
}

TEST_CASE("a hint that cannot be remembered is still given") {
  const Folder folder;
  std::ofstream(folder.file("file")) << "x";
  Course course(folder.file("file"));  // no folder: nothing can be written into it
  const std::string text = tool::next_hint(course, "104", 80);
  CHECK(has(text, "hint 1 of 3"));
  CHECK(has(text, "The next call shows this one again: progress: expected a file that can be written"));
}

TEST_CASE("hints of unknown exercises are refused") {
  const Folder folder;
  Course course(folder.file(""));
  for (const char* id : {"207", "999", "merge", "", "104.nothing", "104.", "104./../x"}) {
    CAPTURE(id);
    CHECK(has(thrown_by([&] { (void)tool::next_hint(course, id, 80); }), "lesson: expected"));
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("progress.txt")));
}

TEST_CASE("every hint of every lesson is plain text within the width") {
  const Folder folder;
  Course course(folder.file(""));
  for (const auto& lesson : judge::lessons()) {
    std::string text;
    for (int level = 0; level < 3; ++level) text = tool::next_hint(course, std::to_string(lesson.number), 72);
    CAPTURE(lesson.number);
    CHECK_FALSE(has(text, "$"));
    CHECK_FALSE(has(text, "\\"));
    CHECK_FALSE(has(text, "**"));
    CHECK(has(text, "hint 3 of 3"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(tool::columns_of(line) <= 72);
    }
  }
}

TEST_CASE("the library's file is shown only beside a file that has passed unchanged") {
  const Folder folder;
  Course course(folder.file(""));
  const auto diff = [&] { return tool::diff_text(course, 104, verify::Colour::kPlain); };
  CHECK(has(thrown_by(diff), "start 104"));
  const auto file = judge::start(104, course.folder());
  CHECK(has(thrown_by(diff), "none of lesson 104 so far"));
  write(file, solution(course, 104));
  CHECK(has(thrown_by(diff), "none of lesson 104 so far"));
  course.progress().add_passed("104", tool::fingerprint_of(file));
  CHECK(diff() == "Your file is the library's, to the letter.\n");
  write(file, "// mine\n" + solution(course, 104));
  CHECK(has(thrown_by(diff), "has changed since"));
  course.progress().add_passed("104", tool::fingerprint_of(file));
  const std::string text = diff();
  CHECK(has(text, "\n-// mine\n"));
  CHECK(has(text, "+++ src/ringcraft/attention/merge.cpp\n"));
  CHECK_FALSE(has(text, "SOLUTION"));
  CHECK(has(tool::diff_text(course, 104, verify::Colour::kTerminal), "\x1b[31m-// mine\x1b[0m\n"));
}

TEST_CASE("a reset keeps the student's text, and undo puts it back") {
  const Folder folder;
  const Course course(folder.file(""));
  CHECK(has(thrown_by([&] { (void)tool::reset(course, 104); }), "not started"));
  const std::string file = judge::start(104, course.folder()).string(), given = contents(file);
  CHECK(has(thrown_by([&] { (void)tool::undo_reset(course, 104); }), "nothing was reset"));
  CHECK(has(tool::reset(course, 104), "nothing to reset"));
  write(file, "first");
  CHECK(has(tool::reset(course, 104), "merge.cpp.before-reset; u puts it back"));
  CHECK(contents(file) == given);
  CHECK(has(tool::reset(course, 104), "nothing to reset"));  // twice by mistake
  CHECK(contents(file + ".before-reset") == "first");
  (void)tool::undo_reset(course, 104);
  CHECK(contents(file) == "first");
  CHECK_FALSE(std::filesystem::exists(file + ".before-reset"));
}

TEST_CASE("several resets keep several texts, and undo with a new text exchanges the two") {
  const Folder folder;
  const Course course(folder.file(""));
  const std::string file = judge::start(104, course.folder()).string();
  for (const char* text : {"first", "second"}) {
    write(file, text);
    (void)tool::reset(course, 104);
  }
  CHECK(contents(file + ".before-reset") == "first");
  CHECK(contents(file + ".before-reset.2") == "second");
  write(file, "third");
  (void)tool::undo_reset(course, 104);
  CHECK(contents(file) == "second");
  CHECK(contents(file + ".before-reset.2") == "third");
  (void)tool::undo_reset(course, 104);
  CHECK(contents(file) == "third");
  CHECK(contents(file + ".before-reset") == "first");
}

TEST_CASE("every check has its own numbers, and the seed that it names repeats them") {
  const Folder folder;
  const std::string command = "check 104 --json '" + folder.file("verdict.json") + "' ";
  const std::filesystem::path file = judge::exercise_file(104, folder.file("exercises"));
  std::filesystem::create_directories(file.parent_path());
  std::string text = contents((tool::source_root() / "src/ringcraft/attention/merge.cpp").string());
  text.insert(text.find("// BEGIN SOLUTION 104"), "acc.max[0] += T(0.5);\n  ");  // wrong by numbers
  write(file, text);
  const auto said = [&](const std::string& more) {
    const Ran ran = run_command(folder, "RINGCRAFT_WORKSPACE='" + folder.file("exercises") +
                                            "' '" RINGCRAFT_TOOL "' " + command + more);
    CHECK(ran.exit_code == 1);
    return ran.out;
  };
  const auto seed_in = [](const std::string& out) {
    const std::string words = "the same numbers again: --seed ";
    const auto at = out.find(words);
    REQUIRE(at != out.npos);
    return out.substr(at + words.size(), out.find('\n', at) - at - words.size());
  };
  const std::string first = said(""), second = said("");
  CHECK(seed_in(first) != seed_in(second));
  CHECK(first != second);
  CHECK(said("--seed " + seed_in(first)) == first);
  CHECK(has(contents(folder.file("verdict.json")), "\"seed\": " + seed_in(first)));
}
