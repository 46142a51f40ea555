// Replaces this process by the program that checks a lesson.
#include "tool/course/checker.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "judge/verdict/judge.hpp"
#include "ringcraft/core/error.hpp"
#include "tool/course/course.hpp"
#include "tool/course/lesson_list.hpp"

namespace ringcraft::tool {
namespace {

// This process's own, without the program's name.
std::vector<std::string> arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> result;
  for (std::string argument; std::getline(file, argument, '\0');) result.push_back(argument);
  if (!result.empty()) result.erase(result.begin());
  return result;
}

void become(const std::filesystem::path& program, const std::vector<std::string>& with) {
  std::vector<std::string> all{program};
  all.insert(all.end(), with.begin(), with.end());
  std::vector<char*> pointers;
  for (std::string& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
}

}  // namespace

void become_checker(int lesson) {
  if (judge::has_checks(lesson)) return;
  if (!judged_lessons().contains(lesson)) return;  // the judge says why
  const std::string number = std::to_string(lesson);
  const auto beside =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / ("ringcraft-check-" + number);
  const std::vector<std::string> given = arguments();
  if (std::filesystem::exists(beside)) become(beside, given);
  std::vector<std::string> through{"--lesson", number};
  through.insert(through.end(), given.begin(), given.end());
  become(source_root() / "ringcraft", through);
  throw Error("check", "the launcher " + (source_root() / "ringcraft").string(), "none that starts",
              "build the target ringcraft_check_" + number, Code::kMissing);
}

}  // namespace ringcraft::tool
