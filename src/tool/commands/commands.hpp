#pragma once
// The commands of the tool. Each add_* function declares one command with its flags and help on the command
// line's parser; when that command is given, `action` becomes what main runs. An action returns the exit code
// and throws ringcraft::Error for any failure.

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace ringcraft::tool {

using Action = std::function<int()>;

void add_run(CLI::App& app, Action& action);
void add_attend(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_trace(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_course(CLI::App& app, Action& action);   // what course_commands.hpp does
void add_grading(CLI::App& app, Action& action);  // what grade_commands.hpp does

// Commands and flags of the contract that this version does not have: each is refused with a sentence.
void add_not_here(CLI::App& app, Action& action);

}  // namespace ringcraft::tool
