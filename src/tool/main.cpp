// The command line. Exit codes: 0 good, 1 the answer is wrong, 2 the call is wrong, 3 something needed is
// missing.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>

#include "ringcraft/core/error.hpp"
#include "tool/commands.hpp"

namespace {

using ringcraft::tool::Action;

int report(const std::string& sentence, ringcraft::Code code) {
  std::fprintf(stderr, "ringcraft: %s\n", sentence.c_str());
  return static_cast<int>(code);
}

int run(int argc, char** argv) {
  CLI::App app{
      "ringcraft: ring attention, built step by step and checked at every step.\n"
      "Example: ./ringcraft attend --input qkv.safetensors --output out.safetensors --ranks 4 --layout "
      "zigzag --causal",
      "ringcraft"};
  app.require_subcommand(0, 1);
  app.footer(
      "Exit codes: 0 good, 1 the answer is wrong, 2 the call is wrong, 3 something needed is missing.");
  Action action;
  ringcraft::tool::add_run(app, action);
  ringcraft::tool::add_attend(app, action);
  ringcraft::tool::add_verify(app, action);
  ringcraft::tool::add_bench(app, action);
  ringcraft::tool::add_lessons(app, action);
  ringcraft::tool::add_not_here(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return report(std::string(error.what()) + " (see ./ringcraft --help)", ringcraft::Code::kWrongCall);
  }
  if (!action) {
    std::fputs(app.help().c_str(), stdout);
    return report("say what to do: run, attend, verify, bench, lessons, start, check, test or setup",
                  ringcraft::Code::kWrongCall);
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const ringcraft::Error& error) {
    return report(error.what(), error.code());
  } catch (const std::bad_alloc&) {
    return report("out of memory; try a shorter sequence", ringcraft::Code::kMissing);
  } catch (const std::exception& error) {
    return report(error.what(), ringcraft::Code::kWrongAnswer);
  }
}
