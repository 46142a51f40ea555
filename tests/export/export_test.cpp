// An exported tree shows no solution, in any of its files; a wrong call leaves no files.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <unordered_map>

#include "support/catch.hpp"
#include "tool/export/kept_links.hpp"
#include "tool/tool_process.hpp"

namespace ringcraft::tests {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = RINGCRAFT_SOURCE_DIR;
constexpr std::size_t kShortest = 20;  // letters of a line that says something

std::string stripped(const std::string& line) {
  const auto first = line.find_first_not_of(" \t\r");
  return first == line.npos ? "" : line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// Lessons -> lines between their marks; lines outside of marks go to `outside`.
std::map<int, std::set<std::string>> split(const std::string& text, std::string& outside) {
  std::map<int, std::set<std::string>> inside;
  std::istringstream lines(text);
  int lesson = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string words = stripped(line);
    if (words.starts_with("// BEGIN SOLUTION ")) lesson = std::stoi(words.substr(18));
    if (lesson == 0) outside += line + "\n";
    if (lesson != 0 && words.size() >= kShortest && words.find(" SOLUTION ") == words.npos)
      inside[lesson].insert(words);
    if (words.starts_with("// END SOLUTION ")) lesson = 0;
  }
  return inside;
}

// Finds which of these lines, each of kShortest letters at least, occur in a text or a packed file. There are
// many lines and texts: one pass over a text looks for all of them, by their first eight letters.
class LineSearch {
 public:
  explicit LineSearch(const std::set<std::string>& lines) : may_begin_(1 << 16) {
    for (const std::string& line : lines) {
      by_beginning_[beginning(line.data())].push_back(line);
      may_begin_[mixed(beginning(line.data()))] = true;
    }
  }

  std::set<std::string> found_in(const std::string& text) const {
    std::set<std::string> found;
    for (std::size_t at = 0; at + kShortest <= text.size(); ++at) {
      const std::uint64_t letters = beginning(text.data() + at);
      if (!may_begin_[mixed(letters)]) continue;
      const auto candidates = by_beginning_.find(letters);
      if (candidates == by_beginning_.end()) continue;
      for (const std::string& line : candidates->second)
        if (text.compare(at, line.size(), line) == 0) found.insert(line);
    }
    return found;
  }

 private:
  static std::uint64_t beginning(const char* text) {
    std::uint64_t letters;
    std::memcpy(&letters, text, sizeof letters);
    return letters;
  }
  static std::uint64_t mixed(std::uint64_t letters) { return letters * 0x9e3779b97f4a7c15 >> 48; }

  std::unordered_map<std::uint64_t, std::vector<std::string>> by_beginning_;
  std::vector<bool> may_begin_;  // most letters begin no line
};

std::set<std::string> all_of(const std::map<int, std::set<std::string>>& lines) {
  std::set<std::string> all;
  for (const auto& [lesson, some] : lines) all.insert(some.begin(), some.end());
  return all;
}

// The distinctive lines of every lesson: of kShortest letters at least, and nowhere in the code that students
// get.
const std::map<int, std::set<std::string>>& distinctive_lines() {
  static const auto all_lines = [] {
    std::map<int, std::set<std::string>> lines;
    std::string outside;
    for (const char* folder : {"src", "kernels", "lessons"})
      for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
        const std::string ending = entry.path().extension().string();
        if (!entry.is_regular_file() ||
            (ending != ".cpp" && ending != ".hpp" && ending != ".cu" && ending != ".cuh"))
          continue;
        for (auto& [lesson, found] : split(contents(entry.path()), outside)) lines[lesson].merge(found);
      }
    const std::set<std::string> open = LineSearch(all_of(lines)).found_in(outside);
    for (auto& [lesson, found] : lines)
      std::erase_if(found, [&](const std::string& line) { return open.contains(line); });
    return lines;
  }();
  return all_lines;
}

// Every file of a tree, packed ones as they lie on the disk: path -> bytes.
std::map<std::string, std::string> files_of(const fs::path& tree) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(tree))
    if (entry.is_regular_file()) files[fs::relative(entry.path(), tree).string()] = contents(entry.path());
  return files;
}

// The lessons of which a tree shows a line; what a solved lesson has, too, is no secret.
std::set<int> shown_lessons(const std::map<std::string, std::string>& files,
                            const std::set<int>& solved = {}) {
  std::string open;
  for (const int lesson : solved)
    for (const std::string& line : distinctive_lines().at(lesson)) open += line + "\n";
  const LineSearch search(all_of(distinctive_lines()));
  const std::set<std::string> no_secret = search.found_in(open);
  std::set<std::string> found;
  for (const auto& [path, bytes] : files) found.merge(search.found_in(bytes));
  std::set<int> shown;
  for (const auto& [lesson, lines] : distinctive_lines())
    for (const std::string& line : lines)
      if (found.contains(line) && (solved.contains(lesson) || !no_secret.contains(line)))
        shown.insert(lesson);
  return shown;
}

Ran export_to(const Folder& folder, const std::string& arguments) {
  return run_tool(folder, "export '" + folder.file("course") + "' " + arguments);
}

TEST_CASE("no distinctive line of any solution is in an exported tree") {
  const auto& lines = distinctive_lines();
  CHECK(lines.size() >= 15);
  for (const auto& [lesson, found] : lines) {
    INFO("lesson " << lesson);
    CHECK_FALSE(found.empty());
  }
  for (const char* kind : {"", "--objects"}) {
    INFO(kind);
    const Folder folder;
    const Ran ran = export_to(folder, kind);
    INFO(ran.out << ran.err);
    REQUIRE(ran.exit_code == 0);
    const auto files = files_of(folder.file("course"));
    CHECK(shown_lessons(files).empty());
    auto sources = files_of(kRoot / "src");
    sources.merge(files_of(kRoot / "kernels"));
    CHECK(shown_lessons(sources).size() == lines.size());  // the search finds lines that are present
    CHECK(files.contains("src/sealed.txt"));
    CHECK(files.contains(*kind == 0 ? "src/sealed.tar.xz" : "src/sealed.a"));
    CHECK_FALSE(files.contains(*kind == 0 ? "src/sealed.a" : "src/sealed.tar.xz"));
    for (const auto& [path, bytes] : files) {
      INFO(path);
      CHECK_FALSE(path.starts_with(".git/"));
      CHECK_FALSE(path.starts_with("build/"));
      CHECK_FALSE(path.starts_with("exercises/"));
      CHECK(bytes.find("\n  // BEGIN SOLUTION 104") == bytes.npos);
    }
  }
}

TEST_CASE("an exported tree has all that it builds from, skeletons, and, unlike this one, an AGENTS.md") {
  const Folder folder;
  REQUIRE(export_to(folder, "").exit_code == 0);
  const auto files = files_of(folder.file("course"));
  for (const char* path :
       {"ringcraft", "CMakeLists.txt", "README.md", "AGENTS.md", ".gitignore", "lessons/104_merge/README.md",
        "lessons/104_merge/hints/3.md", "src/tool/export/export.cpp", "docs/pages/instructors.md"})
    CHECK(files.contains(path));
  CHECK(files.at("src/ringcraft/attention/merge.cpp").find("throw NotWritten(104)") != std::string::npos);
  CHECK((fs::status(folder.file("course/ringcraft")).permissions() & fs::perms::owner_exec) !=
        fs::perms::none);
  CHECK_FALSE(fs::exists(kRoot / "AGENTS.md"));
  CHECK(files.at(".gitignore").find("exercises") == std::string::npos);  // a student commits them
  CHECK_FALSE(fs::exists(folder.file("course.partial")));
}

TEST_CASE("links of pages lead somewhere, or are words") {
  const auto is_there = [](const std::string& path) { return path == "docs/a.md" || path == "tests/x"; };
  const auto page = [&](const std::string& text) {
    return tool::without_dead_links("docs/pages/p.md", text, is_there);
  };
  CHECK(page("see [`a`](../a.md#part), [b [c]](../b.md) and [d](../../tests/x)\n") ==
        "see [`a`](../a.md#part), b [c] and [d](../../tests/x)\n");
  CHECK(page("[one](x.md)[two](y.md) [web](https://x.org) [here](#part)") ==
        "onetwo [web](https://x.org) [here](#part)");
  CHECK(page("`[](auto&)` and\n```\n[a](x.md)\n```\n") == "`[](auto&)` and\n```\n[a](x.md)\n```\n");

  const Folder folder;
  REQUIRE(export_to(folder, "").exit_code == 0);
  const auto files = files_of(folder.file("course"));
  int pages = 0, changed = 0;
  for (const auto& [path, text] : files) {
    if (!path.ends_with(".md")) continue;
    ++pages;
    changed += fs::exists(kRoot / path) && text.size() != fs::file_size(kRoot / path);
    INFO(path);
    CHECK(text == tool::without_dead_links(path, text, [&](const std::string& target) {
            return fs::exists(folder.file("course") + "/" + target);
          }));
  }
  CHECK(pages > 50);
  CHECK(changed > 2);
  CHECK(changed < pages / 3);
}

TEST_CASE("solved lessons keep their bodies and their marks, and no other does") {
  const Folder folder;
  const Ran ran = export_to(folder, "--solved 101-103,303");
  INFO(ran.out << ran.err);
  REQUIRE(ran.exit_code == 0);
  CHECK(ran.out.find("with body  101-103, 303\n") != ran.out.npos);
  CHECK(ran.out.find("sealed     104-") != ran.out.npos);
  const auto files = files_of(folder.file("course"));
  const std::set<int> solved{101, 102, 103, 303};
  CHECK(shown_lessons(files, solved) == solved);
  CHECK(files.at("src/ringcraft/ring/forward.cpp").find("// BEGIN SOLUTION 303") != std::string::npos);
}

TEST_CASE("a tree with every lesson solved needs nothing sealed") {
  const Folder folder;
  REQUIRE(
      export_to(folder, "--solved 101-" + std::to_string(distinctive_lines().rbegin()->first)).exit_code ==
      0);
  CHECK_FALSE(fs::exists(folder.file("course/src/sealed.txt")));
  CHECK(shown_lessons(files_of(folder.file("course"))).size() == distinctive_lines().size());
}

TEST_CASE("the same tree is exported to the same bytes") {
  const Folder a, b;
  REQUIRE(export_to(a, "").exit_code == 0);
  REQUIRE(export_to(b, "").exit_code == 0);
  CHECK(files_of(a.file("course")) == files_of(b.file("course")));
}

TEST_CASE("a wrong export is refused with a sentence and leaves no files") {
  const Folder folder;
  fs::create_directory(folder.file("full"));
  std::ofstream(folder.file("full") + "/mine.txt") << "mine";
  fs::create_directory(folder.file("empty"));
  fs::create_directory(folder.file("taken.partial"));
  const std::string base = folder.file("");
  const struct {
    std::string arguments, fragment;
  } wrong[] = {
      {"", "DIR"},
      {base + "full", "expected a folder that is not there, or is empty"},
      {base + "full/mine.txt", "expected a folder that is not there, or is empty"},
      {base + "nowhere/course", "expected a folder to make it in"},
      {base + "full/", "expected a folder that is not there, or is empty"},
      {base + "taken", "another export may be writing it"},
      {"'" + kRoot.string() + "'", "expected a folder outside of"},
      {"'" + kRoot.string() + "/course'", "expected a folder outside of"},
      {"'" + kRoot.string() + "/src/../build/course'", "expected a folder outside of"},
      {base + "course --solved 999", "got 999"},
      {base + "course --solved 207", "expected lessons with an exercise: 101-"},
      {base + "course --solved 101-", "expected lessons such as"},
      {base + "course --solved 103-101", "expected lessons such as"},
      {base + "course --solved 101,,102", "expected lessons such as"},
      {base + "course --solved 101,", "expected lessons such as"},
      {base + "course --solved all", "expected lessons such as"},
      {base + "course --solved 1041", "expected lessons such as"},
      {base + "course surplus", "surplus"},
  };
  for (const auto& [arguments, fragment] : wrong) {
    INFO(arguments);
    const Ran ran = run_tool(folder, "export " + arguments);
    INFO(ran.out << ran.err);
    CHECK(ran.exit_code == 2);
    CHECK(ran.err.find(fragment) != ran.err.npos);
    CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
    CHECK_FALSE(fs::exists(folder.file("course")));
    CHECK_FALSE(fs::exists(folder.file("course.partial")));
    CHECK_FALSE(fs::exists(kRoot / "course"));
  }
  CHECK(contents(folder.file("full") + "/mine.txt") == "mine");
  CHECK(run_tool(folder, "export " + base + "empty").exit_code == 0);
  CHECK(fs::exists(folder.file("empty/ringcraft")));
}

}  // namespace
}  // namespace ringcraft::tests
