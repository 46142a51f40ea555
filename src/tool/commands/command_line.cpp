// Builds one parser for all commands.
#include "tool/commands/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string_view>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "tool/commands/course_commands.hpp"
#include "tool/terminal/terminal.hpp"

namespace ringcraft::tool {
namespace {

std::shared_ptr<CLI::App> parser(Action& action) {
  auto app = std::make_shared<CLI::App>(
      "ringcraft: ring attention, built step by step and checked at every step.\n"
      "Example: ./ringcraft attend --input qkv.safetensors --output out.safetensors --ranks 4 --layout "
      "zigzag --causal",
      "ringcraft");
  app->require_subcommand(0, 1);
  app->footer(
      "Exit codes: 0 good, 1 the answer is wrong, 2 the call is wrong, 3 something needed is missing.");
  add_run(*app, action);
  add_attend(*app, action);
  add_verify(*app, action);
  add_trace(*app, action);
  add_simulate(*app, action);
  add_bench(*app, action);
  add_course(*app, action);
  add_grading(*app, action);
  add_not_here(*app, action);
  return app;
}

// Watch mode on a terminal; without one, help and a sentence about what is missing.
int nothing_asked(const CLI::App& app) {
  if (on_terminal()) return watch();
  std::fputs(app.help().c_str(), stdout);
  throw Error(
      "say what to do: run, attend, verify, trace, simulate, bench, lessons, start, check, watch, next, "
      "hint, diff, "
      "export, grade, gradescope, doctor, test or setup");
}

// An empty value comes from an unset variable of a script, and does not mean the default.
void refuse_empty(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool flag = argument.starts_with("--") && argument.ends_with("=");
    if (argument.empty() || flag)
      throw Error("command line",
                  "a value after " + shown(flag ? argument.substr(0, argument.size() - 1) : argv[i - 1]),
                  "an empty one", "give it one, or leave it out");
  }
}

}  // namespace

Action parse_command_line(int argc, const char* const* argv) {
  refuse_empty(argc, argv);
  Action action;
  const std::shared_ptr<CLI::App> app = parser(action);
  try {
    app->parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return [app, help] { return app->exit(help); };
  } catch (const CLI::CallForAllHelp& help) {
    return [app, help] { return app->exit(help); };
  } catch (const CLI::ParseError& error) {
    std::string help = "--help";
    for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; }))
      if (argc > 1 && command->get_name() == argv[1]) help = command->get_name() + " --help";
    throw Error(std::string(error.what()) + " (see ./ringcraft " + help + ")");
  }
  if (!action) return [app] { return nothing_asked(*app); };
  return action;
}

}  // namespace ringcraft::tool
