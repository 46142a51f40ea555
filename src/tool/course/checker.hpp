#pragma once
// The program that checks a lesson: the tool with the checks of this one. It is built when it is first asked
// for, so that a student does not wait for the checks of twenty others.

namespace ringcraft::tool {

// Returns in a program that has the checks of the lesson. Otherwise this process goes on as one that has,
// with the same arguments, from their beginning: the one beside this program, or else what the launcher
// builds. Throws Error if there is neither.
void become_checker(int lesson);

}  // namespace ringcraft::tool
