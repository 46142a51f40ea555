// Commands and flags of the contract that this version does not have: refused by name, never ignored.
#include <CLI/CLI.hpp>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "tool/commands/commands.hpp"

namespace ringcraft::tool {

void add_not_here(CLI::App& app, Action& action) {
  for (const char* name : {"plan", "train", "docs"}) {
    CLI::App* command = app.add_subcommand(name)->group("")->allow_extras();
    command->callback([&action, name] {
      action = [name]() -> int {
        throw Error(
            std::string(name) +
            " is not part of this version; here are run, attend, verify, trace, simulate, bench, "
            "lessons, start, "
            "check, watch, next, hint, diff, export, grade, gradescope, doctor, notebooks, test and setup");
      };
    });
  }
  constexpr std::pair<const char*, const char*> kOfTheLauncher[] = {
      // answered before it starts the tool
      {"test", "Build and run every test"},
      {"notebooks", "Open the notebooks in JupyterLab, or execute them"},
      {"setup", "Install what is missing"}};
  for (const auto& [name, about] : kOfTheLauncher) {
    CLI::App* command = app.add_subcommand(name, about)->allow_extras();
    command->callback([&action, name = name] {
      action = [name]() -> int {
        throw Error(std::string(name) + " is a command of the launcher: call ./ringcraft " + name +
                    " in the project's folder");
      };
    });
  }
}

}  // namespace ringcraft::tool
