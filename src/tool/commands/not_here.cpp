// Commands and flags of the contract that this version does not have: refused by name, never ignored.
#include <CLI/CLI.hpp>

#include "ringcraft/core/error.hpp"
#include "tool/commands/commands.hpp"

namespace ringcraft::tool {

void add_not_here(CLI::App& app, Action& action) {
  for (const char* name : {"grade", "gradescope", "doctor", "plan", "train", "docs", "notebooks"}) {
    CLI::App* command = app.add_subcommand(name)->group("")->allow_extras();
    command->callback([&action, name] {
      action = [name]() -> int {
        throw Error(std::string(name) +
                    " is not part of this version; here are run, attend, verify, trace, simulate, bench, "
                    "lessons, start, "
                    "check, watch, next, hint, diff, export, test and setup");
      };
    });
  }
  for (const char* name : {"test", "setup"}) {  // the launcher answers these before it starts the tool
    CLI::App* command = app.add_subcommand(name, std::string(name) == "test" ? "Build and run every test"
                                                                             : "Install what is missing")
                            ->allow_extras();
    command->callback([&action, name] {
      action = [name]() -> int {
        throw Error(std::string(name) + " is a command of the launcher: call ./ringcraft " + name +
                    " in the project's folder");
      };
    });
  }
}

}  // namespace ringcraft::tool
