#pragma once
// The contents of a tree for students: the project's own files, with the bodies of unsolved lessons taken out
// and with nothing else that shows them.

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ringcraft::tool {

struct StudentTree {
  std::map<std::string, std::string> files;  // path below the root -> text
  std::vector<std::string> sealed;           // of these the files whose bodies were taken out
  std::vector<std::string> left_out;         // test files that show a solution
};

// The project's tree at `root` without the bodies of these lessons. `known` are all lessons that marks may
// name. A test that shows a line of a body is left out. Throws Error for malformed marks, and with file and
// line for any other file that shows a body: no file that would leak one is exported.
StudentTree student_tree(const std::filesystem::path& root, const std::set<int>& sealed,
                         const std::set<int>& known);

// Whether a path is this folder, or lies in it; both are absolute, and lead over no link.
bool is_inside(const std::filesystem::path& path, const std::filesystem::path& folder);

// Throws Error (kMissing), which begins with the command, if the tree at `root` was exported itself.
void refuse_exported_tree(const std::string& command, const std::filesystem::path& root);

}  // namespace ringcraft::tool
