// Defines the commands that grade a class in a program that cannot. The launcher starts the other program for
// them.
#include "ringcraft/core/error.hpp"
#include "tool/commands/grade_commands.hpp"

namespace ringcraft::tool {
namespace {

[[noreturn]] void elsewhere(const std::string& command) {
  throw Error(command + " needs every lesson's checks, which this program does not hold; call ./ringcraft " +
                  command + " in the project's folder",
              Code::kMissing);
}

}  // namespace

int grade(const GradeRequest&) { elsewhere("grade"); }
int gradescope(const GradescopeRequest&) { elsewhere("gradescope"); }
int doctor() { elsewhere("doctor"); }

}  // namespace ringcraft::tool
