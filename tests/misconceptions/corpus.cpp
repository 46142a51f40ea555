// Reads the first lines of the corpus' files.
#include "corpus.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "judge/tree/config.hpp"
#include "ringcraft/core/error.hpp"
#include "support/effort.hpp"

namespace ringcraft::judge {
namespace {

namespace fs = std::filesystem;

fs::path tests() { return fs::path(kSourceRoot) / "tests"; }

[[noreturn]] void refuse(const fs::path& path, const std::string& expected, const std::string& actual) {
  throw Error(path.string(), expected, actual, "see tests/misconceptions/corpus.hpp");
}

// The comment lines that a file begins with, without "// ".
std::vector<std::string> first_lines(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line) && line.starts_with("// ");)
    lines.push_back(line.substr(3));
  return lines;
}

// The text after "Fails: " and the like.
std::string behind(const fs::path& path, const std::string& line, const std::string& word) {
  if (!line.starts_with(word + ": ")) refuse(path, "\"// " + word + ": ...\"", line);
  return line.substr(word.size() + 2);
}

// causal "n=3 contiguous causal", layouts
std::vector<Expected> expected_from(const fs::path& path, const std::string& text) {
  std::vector<Expected> fails;
  for (std::size_t at = 0; at < text.size();) {
    Expected& each = fails.emplace_back();
    const std::size_t end = std::min(text.find_first_of(" ,", at), text.size());
    each.check = text.substr(at, end - at);
    std::istringstream rest(text.substr(end));
    if (rest.peek() == ' ') rest >> std::quoted(each.fragment);
    const std::size_t used = rest.eof() ? text.size() : end + static_cast<std::size_t>(rest.tellg());
    if (each.check.empty() || (used < text.size() && text.compare(used, 2, ", ") != 0))
      refuse(path, "check \"piece of the sentence\", ...", text);
    at = used + 2;
  }
  return fails;
}

std::set<std::string> checks_from(const std::string& text) {
  std::set<std::string> checks;
  for (const Expected& each : expected_from({}, text)) checks.insert(each.check);
  return checks;
}

std::vector<fs::path> sources_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string ending = entry.path().extension();
    if (ending != ".cpp" && ending != ".cu" && ending != ".edit")
      refuse(entry.path(), "a .cpp, .cu or .edit file", "something else");
    paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

WrongFile misconception_from(const fs::path& path) {
  const std::vector<std::string> lines = first_lines(path);
  if (lines.size() != 3) refuse(path, "three comment lines", std::to_string(lines.size()));
  const auto colon = lines[0].find(": ");
  const std::string id = lines[0].substr(0, colon);
  const auto digit = std::ranges::find_if(id, [](char c) { return c >= '0' && c <= '9'; });
  const bool well_formed = colon != lines[0].npos && digit != id.begin() && digit != id.end() &&
                           std::all_of(id.begin(), digit, [](char c) { return c >= 'A' && c <= 'Z'; }) &&
                           std::all_of(digit, id.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!well_formed || !lines[0].ends_with('.')) refuse(path, "\"// RF4: a sentence.\"", lines[0]);
  const std::string question = behind(path, lines[2], "Hint");
  if (!question.ends_with('?') && !question.ends_with('.')) refuse(path, "a question or a task", question);
  return {path, id, lines[0].substr(colon + 2, lines[0].size() - colon - 3), question,
          expected_from(path, behind(path, lines[1], "Fails"))};
}

WrongFile attack_from(const fs::path& path) {
  const std::vector<std::string> lines = first_lines(path);
  if (lines.size() != 2 && lines.size() != 3)
    refuse(path, "two or three comment lines", std::to_string(lines.size()));
  WrongFile file{path, "", lines[0], "", expected_from(path, behind(path, lines[1], "Fails"))};
  if (lines.size() == 3) file.earns = std::stod(behind(path, lines[2], "Earns"));
  return file;
}

RightFile equivalent_from(const fs::path& path) {
  const std::vector<std::string> lines = first_lines(path);
  if (lines.empty() || lines.size() > 2)
    refuse(path, "one or two comment lines", std::to_string(lines.size()));
  behind(path, lines[0], "Equivalent");
  return {path,
          lines.size() == 2 ? checks_from(behind(path, lines[1], "May fail")) : std::set<std::string>{}};
}

template <class Read>
auto all_in(const fs::path& folder, Read read) {
  std::vector<decltype(read(folder))> files;
  for (const fs::path& path : sources_in(folder)) files.push_back(read(path));
  return files;
}

}  // namespace

std::vector<WrongFile> misconceptions_of(const LessonInfo& lesson) {
  return all_in(tests() / "misconceptions" / lesson.name, misconception_from);
}

std::vector<WrongFile> attacks_of(const LessonInfo& lesson) {
  return all_in(tests() / "attacks" / lesson.name, attack_from);
}

std::vector<RightFile> equivalents_of(const LessonInfo& lesson) {
  return all_in(tests() / "misconceptions" / "equivalent" / lesson.name, equivalent_from);
}

std::size_t looked_at_count(std::size_t all) {
  if (testing::long_run()) return all;
  const std::size_t count = std::min<std::size_t>((all + 2) / 3, 4);
  if (count < all) std::printf("%zu of %zu files; all of them with ./ringcraft test --long\n", count, all);
  return count;
}

std::vector<WrongFile> tried_attacks(const LessonInfo& lesson) {
  const std::vector<WrongFile> all = attacks_of(lesson);
  if (testing::long_run()) return all;
  std::vector<WrongFile> some;
  for (std::size_t i = all.size() > 1 ? static_cast<std::size_t>(lesson.number) % 2 : 0; i < all.size();
       i += 2)
    some.push_back(all[i]);
  std::printf("%zu of %zu attacks; all of them with ./ringcraft test --long\n", some.size(), all.size());
  return some;
}

}  // namespace ringcraft::judge
