#pragma once
// The texts that only an exported tree has.

#include <string>

namespace ringcraft::tool {

// AGENTS.md: asks coding assistants to teach rather than to solve.
extern const std::string kAgents;

// .gitignore: excludes build outputs; a student commits the exercises.
extern const std::string kStudentIgnores;

}  // namespace ringcraft::tool
