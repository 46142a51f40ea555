// The parts of watch mode: keys, saved files, columns, and a report on one screen.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "ringcraft/core/error.hpp"
#include "support/catch.hpp"
#include "tool/terminal/columns.hpp"
#include "tool/terminal/terminal.hpp"
#include "tool/tool_process.hpp"
#include "tool/watch/file_watch.hpp"
#include "tool/watch/verdict.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;
using tool::FileWatch;
using tool::Watching;

namespace {

namespace fs = std::filesystem;

// Asks again, as the loop does, until something was saved; at most 5 s.
std::vector<std::string> saved(FileWatch& watch) {
  std::vector<std::string> names;
  for (int i = 0; names.empty() && i < 500; ++i) {
    for (const auto& file : watch.changed()) names.push_back(file.filename().string());
    if (names.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return names;
}

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, tool::columns_of(line));
  return width;
}

verify::Report long_report() {
  verify::Report report{"Lesson 104: Merge", {}};
  const std::string claim =
      "A claim that is far too long for a line of eighty columns, as claims tend to be.";
  for (int i = 0; i < 14; ++i) {
    const auto status = i < 4    ? verify::Status::kPassed
                        : i < 12 ? verify::Status::kFailed
                                 : verify::Status::kSkipped;
    report.rows.push_back({"104.row" + std::to_string(i),
                           claim,
                           status,
                           1,
                           "sentence " + std::to_string(i),
                           "hint " + std::to_string(i),
                           {}});
  }
  report.rows[4].maps = {{"out", {"....xxxx", "xx......"}}};
  report.rows[4].causes = {{"X1", "the likely cause", "the question?"}};
  return report;
}

}  // namespace

TEST_CASE("keys are letters and signs, bytes of arrow keys and other scripts are none") {
  tool::KeyParser parser;
  CHECK(parser.feed("nhq") == "nhq");
  CHECK(parser.feed("N?") == "n?");
  CHECK(parser.feed("\x1b[A\x1b[1;5Ch\x1bOPl\x1b[15~d") == "hld");
  CHECK(parser.feed("\xC3\xA4 \n\r\t\x7F") == "");
  CHECK(parser.feed("\x04") == "q");
  CHECK(parser.feed("\x1bq") == "");  // Alt with q
  CHECK(parser.feed("\x1b") == "");   // the key Esc
  CHECK(parser.feed("q") == "q");
  CHECK(parser.feed("\x1b[1") == "");  // cut in two
  CHECK(parser.feed(";5Dh") == "h");
}

TEST_CASE("every kind of save is noticed, by the kernel's notices and by polling") {
  const auto how = GENERATE(Watching::kBest, Watching::kPolling);
  const Folder folder;
  const fs::path lesson = fs::path(folder.file("")) / "104_merge", file = lesson / "merge.cpp";
  fs::create_directories(lesson);
  write(file, "one");
  FileWatch watch(folder.file(""), how);
  CHECK((watch.descriptor() >= 0) == (how == Watching::kBest));
  CHECK(watch.changed().empty());

  write(file, "in place");
  CHECK(saved(watch) == std::vector<std::string>{"merge.cpp"});
  CHECK(watch.changed().empty());

  write(lesson / ".merge.cpp.swp", "written elsewhere, then renamed");
  fs::rename(lesson / ".merge.cpp.swp", file);
  CHECK(saved(watch) == std::vector<std::string>{"merge.cpp"});

  fs::rename(file, lesson / "merge.cpp~");
  CHECK(watch.changed().empty());
  write(file, "moved away, then written anew");
  CHECK(saved(watch) == std::vector<std::string>{"merge.cpp"});

  for (const char* name :
       {"merge.cpp~", "#merge.cpp#", ".#merge.cpp", "4913", "merge.o", "merge.cpp.before-reset"})
    write(lesson / name, "no source");
  CHECK(watch.changed().empty());
}

TEST_CASE("folders that come later, and those that are made anew, are watched too") {
  const auto how = GENERATE(Watching::kBest, Watching::kPolling);
  const Folder folder;
  const fs::path workspace = fs::path(folder.file("")) / "exercises", lesson = workspace / "104_merge";
  FileWatch watch(workspace, how);  // makes the workspace
  for (int round = 0; round < 2; ++round) {
    fs::create_directories(lesson);
    write(lesson / "merge.cpp", "one");
    CHECK(saved(watch) == std::vector<std::string>{"merge.cpp"});
    write(lesson / "merge.cpp", "two, longer");
    CHECK(saved(watch) == std::vector<std::string>{"merge.cpp"});
    fs::remove_all(lesson);
    CHECK(watch.changed().empty());
  }
}

TEST_CASE("two saves with one stamp are two saves") {
  const Folder folder;
  const fs::path lesson = fs::path(folder.file("")) / "104_merge", file = lesson / "merge.cpp";
  fs::create_directories(lesson);
  write(file, "one");
  const auto time = fs::last_write_time(file);
  FileWatch watch(folder.file(""));
  if (watch.descriptor() < 0) return;  // only the kernel can tell them apart
  write(file, "two");
  fs::last_write_time(file, time);
  CHECK(saved(watch) == std::vector<std::string>{"merge.cpp"});
}

TEST_CASE("lines are folded at blanks below their last column, and lines of code are not") {
  const std::string below(18, ' ');
  CHECK(tool::folded("  failed   104.x  one two three four five six\n", 30) ==
        "  failed   104.x  one two\n" + below + "three four\n" + below + "five six\n");
  CHECK(tool::folded("    hint: one two three four five\n", 24) ==
        "    hint: one two three\n          four five\n");
  CHECK(tool::folded("   12 | int a_line_of_code = that + is + long;\n", 20) ==
        "   12 | int a_line_of_code = that + is + long;\n");
  CHECK(tool::folded("one two\n\nthree\n", 20) == "one two\n\nthree\n");
  CHECK(tool::folded("a_word_that_is_wider_than_the_window and another\n", 20) ==
        "a_word_that_is_wider_than_the_window\nand another\n");
  CHECK(tool::cut("abcdefgh", 6) == "abc...");
  CHECK(tool::cut("abcdef", 6) == "abcdef");
  CHECK(tool::columns_of("\x1b[31mr\xC3\xA4t\x1b[0m") == 3);
}

TEST_CASE("Markdown becomes plain text") {
  CHECK(tool::plain_of_markdown("Read $m$ as $e^{m}$ or $e^{a + b}$, $-\\infty$, $5 \\ln 2$.", 80) ==
        "Read m as e^m or e^(a + b), -inf, 5 ln 2.\n");
  CHECK(tool::plain_of_markdown("**Bold**, *thin*, `a * b`, 2 * 3, [a page](x.md).", 80) ==
        "Bold, thin, `a * b`, 2 * 3, a page.\n");
  CHECK(tool::plain_of_markdown("1. one two three\n   four\n2. five\n   - six\n     seven\n", 14) ==
        "1. one two\n   three four\n2. five\n   - six seven\n");
  CHECK(tool::plain_of_markdown("a\nb\n\n```cpp\nint  x;\n```\nc\n", 80) == "a b\n\n    int  x;\nc\n");
}

TEST_CASE("a report comes back from its JSON unchanged") {
  verify::Report report = long_report();
  report.rows[0].figures = {{"time", 1.5, 2.0, "s"}, {"bytes", std::nan(""), std::nullopt, "B"}};
  const std::string json = verify::json_of(report);
  CHECK(verify::json_of(tool::report_of_json(json)) == json);
  for (const char* wrong :
       {"", "{}", "[]", "{\"title\": 1, \"rows\": []}", "{\"title\": \"x\", \"rows\": [{}]}"})
    CHECK_THROWS_AS(tool::report_of_json(wrong), Error);
}

TEST_CASE("a screen holds a report: the first failure whole, the others as a line each") {
  verify::Report report = long_report();
  const std::string text = tool::brief_text(report, verify::Colour::kPlain, {80, 40});
  for (const char* part : {"sentence 4", "....xxxx xx......", "likely: the likely cause", "the question?",
                           "hint: hint 4", "104.row11", "passed   row0, row1, row2, row3",
                           "skipped  row12, row13", "4 passed, 8 failed, 2 skipped; 4 of 14 points"})
    CHECK(text.find(part) != std::string::npos);
  CHECK(text.find("sentence 5") == std::string::npos);
  CHECK(text.find("a shows all") == std::string::npos);
  CHECK(widest(text) <= 80);

  for (int i = 0; i < 100; ++i) report.rows[4].sentence += "\nline of a compiler " + std::to_string(i);
  report.rows[0] = {.id = "104.compiles",
                    .claim = "The file compiles.",
                    .status = verify::Status::kPassed,
                    .weight = 0,
                    .figures = {},
                    .remark = "with warnings:\nunused x"};
  for (const std::size_t lines : {24u, 50u}) {
    const std::string cut = tool::brief_text(report, verify::Colour::kTerminal, {60, lines});
    CHECK(tool::lines_of(cut) + 2 <= lines);  // and the lines around it
    CHECK(widest(cut) <= 60);
    CHECK(cut.find("sentence 4") != std::string::npos);
    CHECK(cut.find("unused x") != std::string::npos);
    CHECK(cut.find("4 of 13 points") == std::string::npos);
    CHECK(cut.find("a shows all") != std::string::npos);
  }
}
