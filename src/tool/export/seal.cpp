// Removes bodies of exercises, and searches for other files that show them.
#include "tool/export/seal.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "judge/tree/marks.hpp"
#include "judge/tree/text_file.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "tool/export/kept_links.hpp"

namespace ringcraft::tool {
namespace {

namespace fs = std::filesystem;

// Folders and files to export. Of the tests those of the library itself: the others show right and wrong
// solutions, or test parts of the project that a student does not need.
constexpr const char* kExported[] = {".clang-format",
                                     ".editorconfig",
                                     "CMakeLists.txt",
                                     "CMakePresets.json",
                                     "LICENSE",
                                     "README.md",
                                     "ringcraft",
                                     "docs",
                                     "kernels",
                                     "lessons",
                                     "notebooks",
                                     "src",
                                     "tests/support",
                                     "tests/CMakeLists.txt",
                                     "tests/core",
                                     "tests/problem",
                                     "tests/comm",
                                     "tests/ring",
                                     "tests/attention",
                                     "tests/io",
                                     "tests/verify",
                                     "tests/properties",
                                     "tests/package",
                                     "tests/tool/tool_process.hpp",
                                     "tests/tool/tool_process.cpp"};

constexpr std::size_t kTelling = 20;  // letters of a distinctive line

// Scraps of editors and interpreters.
bool is_scrap(const fs::path& path) {
  const std::string name = path.filename().string(), ending = path.extension().string();
  return name.ends_with('~') || name == "__pycache__" || ending == ".pyc" || ending == ".orig" ||
         ending == ".rej" || ending == ".bak" || ending == ".swp";
}

std::map<std::string, std::string> exported_files(const fs::path& root) {
  std::map<std::string, std::string> files;
  for (const fs::path name : kExported) {
    const fs::path path = root / name;
    if (fs::is_regular_file(path)) files.emplace(name.string(), judge::read_text(path));
    if (!fs::is_directory(path)) continue;
    for (auto at = fs::recursive_directory_iterator(path); at != fs::recursive_directory_iterator(); ++at) {
      if (is_scrap(at->path()) || at->path().filename().string().starts_with('.')) {
        at.disable_recursion_pending();
      } else if (at->is_regular_file()) {
        files.emplace(fs::relative(at->path(), root).generic_string(), judge::read_text(at->path()));
      }
    }
  }
  return files;
}

bool is_code(std::string_view path) {
  const bool folder = path.starts_with("src/") || path.starts_with("kernels/") ||
                      path.starts_with("lessons/") || path.starts_with("docs/examples/");
  return folder && (path.ends_with(".cpp") || path.ends_with(".hpp") || path.ends_with(".cu") ||
                    path.ends_with(".cuh"));
}

// A line without its indentation and its end.
std::string_view stripped(std::string_view line) {
  const auto first = line.find_first_not_of(" \t\r");
  if (first == line.npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// Calls look(number, line) for every line, stripped.
template <class Look>
void for_each_line(std::string_view text, Look look) {
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    look(number, stripped(text.substr(0, end)));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
}

bool has_marks(std::string_view text) {
  bool found = false;
  for_each_line(text, [&](int, std::string_view line) { found |= line.starts_with("// BEGIN SOLUTION "); });
  return found;
}

// The telling lines of one sealed body.
struct Body {
  std::string file;
  std::set<std::string> lines;
};

std::vector<Body> bodies_of(const std::string& file, const std::string& text, const std::set<int>& sealed,
                            const std::set<int>& known) {
  std::vector<Body> bodies;
  for (const judge::Region& region : judge::parse_marks(text, file, known)) {
    if (!sealed.contains(region.lesson)) continue;
    Body& body = bodies.emplace_back(Body{file, {}});
    for_each_line(text, [&](int number, std::string_view line) {
      if (number > region.begin && number < region.end && line.size() >= kTelling)
        body.lines.insert(std::string(line));
    });
  }
  return bodies;
}

// No code that stays may be a copy of a body: a few lines in common are the house's style, half of it is not.
void refuse_copies(const std::map<std::string, std::string>& files, const std::vector<Body>& bodies) {
  constexpr std::size_t kFew = 3;
  for (const auto& [path, text] : files) {
    if (!is_code(path)) continue;
    for (const Body& body : bodies) {
      const auto shown = static_cast<std::size_t>(std::ranges::count_if(
          body.lines, [&](const std::string& line) { return text.find(line) != text.npos; }));
      if (shown > kFew && 2 * shown > body.lines.size())
        throw Error("export", "no other file with the body of " + body.file,
                    path + ", with " + std::to_string(shown) + " of its " +
                        std::to_string(body.lines.size()) + " telling lines",
                    "move it out of the tree");
    }
  }
}

// The lines of the bodies that no code that stays has, too.
std::set<std::string> distinctive(const std::map<std::string, std::string>& files,
                                  const std::vector<Body>& bodies) {
  std::set<std::string> lines;
  for (const Body& body : bodies) lines.insert(body.lines.begin(), body.lines.end());
  for (const auto& [path, text] : files)
    if (is_code(path))
      std::erase_if(lines, [&](const std::string& line) { return text.find(line) != text.npos; });
  return lines;
}

// The first line of a text that shows one of these; 0 if none does.
int shows(const std::string& text, const std::set<std::string>& lines) {
  int first = 0;
  for_each_line(text, [&](int number, std::string_view line) {
    if (first == 0 && line.size() >= kTelling &&
        std::ranges::any_of(lines, [&](const std::string& known) { return line.find(known) != line.npos; }))
      first = number;
  });
  return first;
}

void leave_out_what_shows(StudentTree& tree, const std::set<std::string>& lines) {
  for (const auto& [path, text] : tree.files) {
    const int line = shows(text, lines);
    if (line == 0) continue;
    if (!path.starts_with("tests/") || !path.ends_with("_test.cpp"))
      throw Error("export", "no line of a sealed body in " + path, "line " + std::to_string(line),
                  "say it in other words, or move it out of the tree");
    tree.left_out.push_back(path);
  }
  for (const std::string& path : tree.left_out) tree.files.erase(path);
}

// Whether this is code of a side exercise of a sealed lesson, beside its puzzle.cpp: most of the solution.
bool shows_by_puzzle(const fs::path& path, const std::set<int>& sealed) {
  const fs::path puzzles = path.parent_path().parent_path();
  return puzzles.filename() == "puzzles" && path.extension() == ".cpp" && path.stem() != "puzzle" &&
         sealed.contains(std::stoi(puzzles.parent_path().filename().string()));
}

// Such code is left out. NAME.cpp in the folder NAME is what a student begins with; anything else is what the
// judge is built from, and comes out of the seal.
void seal_puzzles(StudentTree& tree, const std::set<int>& sealed) {
  for (const auto& [name, text] : tree.files)
    if (const fs::path path = name;
        shows_by_puzzle(path, sealed) && path.stem() != path.parent_path().filename())
      tree.sealed.push_back(name);
  std::erase_if(tree.files, [&](const auto& file) { return shows_by_puzzle(file.first, sealed); });
}

}  // namespace

StudentTree student_tree(const fs::path& root, const std::set<int>& sealed, const std::set<int>& known) {
  StudentTree tree{exported_files(root), {}, {}};
  std::vector<Body> bodies;
  for (auto& [path, text] : tree.files) {
    if (!is_code(path) || !has_marks(text)) continue;
    const std::vector<Body> own = bodies_of(path, text, sealed, known);
    if (own.empty()) continue;
    bodies.insert(bodies.end(), own.begin(), own.end());
    tree.sealed.push_back(path);
    text = judge::without_bodies(text, path, known, sealed);
  }
  seal_puzzles(tree, sealed);
  refuse_copies(tree.files, bodies);
  leave_out_what_shows(tree, distinctive(tree.files, bodies));
  const auto is_there = [&](const std::string& path) {  // a file, or a folder with one
    const std::string folder = path.ends_with('/') ? path : path + "/";
    const auto next = tree.files.lower_bound(folder);
    return tree.files.contains(path) || path.starts_with(".") ||
           (next != tree.files.end() && next->first.starts_with(folder));
  };
  for (auto& [path, text] : tree.files)
    if (path.ends_with(".md")) text = without_dead_links(path, text, is_there);
  return tree;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

void refuse_exported_tree(const std::string& command, const std::filesystem::path& root) {
  if (fs::exists(root / "src" / "sealed.txt"))
    throw Error(command + ": this tree was exported itself, its solutions are sealed; " + command +
                    " from the tree that has them",
                Code::kMissing);
}

}  // namespace ringcraft::tool
