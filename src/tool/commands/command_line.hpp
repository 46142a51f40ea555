#pragma once
// The whole command line: all commands with their flags.

#include "tool/commands/commands.hpp"

namespace ringcraft::tool {

// The action that a command line requests. Nothing is done before the action is called: --help, too, is an
// action. Throws Error for a call that no command accepts.
Action parse_command_line(int argc, const char* const* argv);

}  // namespace ringcraft::tool
