// Defines the course's commands in a program without the course. The launcher starts the other program for
// them.
#include "ringcraft/core/error.hpp"
#include "tool/attention/own_files.hpp"
#include "tool/commands/course_commands.hpp"

namespace ringcraft::tool {
namespace {

[[noreturn]] void absent(const std::string& command) {
  throw Error(command + " is a command of the course, which this program does not hold; call ./ringcraft " +
                  command + " in the project's folder",
              Code::kMissing);
}

}  // namespace

int show_lessons() { absent("lessons"); }
int start(const std::string&, std::optional<std::uint64_t>) { absent("start"); }
int check(const CheckRequest&) { absent("check"); }
int next() { absent("next"); }
int hint(const std::string&) { absent("hint"); }
int diff(int) { absent("diff"); }
int watch() { absent("watch"); }
int export_tree(const ExportRequest&) { absent("export"); }
verify::Report climb_with_own_files(const std::string&, const Problem&, const verify::Inputs&,
                                    std::optional<Layout>, KernelPlace) {
  absent("run --mine");
}

}  // namespace ringcraft::tool
