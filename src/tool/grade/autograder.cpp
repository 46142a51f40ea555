// gradescope: writes the archive of an autograder, which holds this tree and builds the grader from it.
#include <cstdio>
#include <filesystem>

#include "grade/autograder/zip.hpp"
#include "grade/run/ledger.hpp"
#include "judge/checks/road.hpp"
#include "judge/tree/text_file.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "tool/commands/grade_commands.hpp"
#include "tool/course/course.hpp"
#include "tool/course/lesson_list.hpp"
#include "tool/export/seal.hpp"

namespace ringcraft::tool {
namespace {

namespace fs = std::filesystem;

bool is_executable(const fs::path& file) {
  return (fs::status(file).permissions() & fs::perms::owner_exec) != fs::perms::none;
}

// All that the grader is built from: what is exported, with every body.
std::vector<grade::Zipped> zipped_tree(const fs::path& root, const std::set<int>& known) {
  std::vector<grade::Zipped> files;
  for (const auto& [path, text] : student_tree(root, {}, known).files)
    if (!path.starts_with("tests/") && !path.starts_with("notebooks/"))
      files.push_back({path, text, is_executable(root / path)});
  return files;
}

}  // namespace

int gradescope(const GradescopeRequest& request) {
  const fs::path root = fs::weakly_canonical(source_root());
  refuse_exported_tree("gradescope", root);
  const fs::path out = fs::weakly_canonical(fs::absolute(request.out));
  if (is_inside(out, root) && !is_inside(out, root / "build"))
    throw Error("gradescope --out", "a file outside of this tree, since it holds every solution",
                shown(request.out), "name one beside it: --out ../autograder.zip");
  lessons_listed("gradescope", request.lessons, judged_lessons());  // refused here rather than there
  std::vector<grade::Zipped> files = zipped_tree(root, lessons_with_exercise());
  const fs::path scripts = root / "src" / "grade" / "autograder";
  files.push_back({"setup.sh", judge::read_text(scripts / "setup.sh"), true});
  files.push_back({"run_autograder", judge::read_text(scripts / "run_autograder.sh"), true});
  files.push_back({"lessons.txt", request.lessons + "\n"});
  if (!request.seed.empty()) files.push_back({"seed.txt", grade::Secret(request.seed).text() + "\n"});
  grade::write_zip(request.out, files);
  std::printf("%s: %s; upload it as the autograder of an assignment\n", shown(request.out, 200).c_str(),
              counted(files.size(), "file").c_str());
  std::printf("It holds every solution%s: show it to no student.\n",
              request.seed.empty() ? "" : ", and the seed");
  return 0;
}

}  // namespace ringcraft::tool
