#pragma once
// The program that checks a lesson: the tool with the checks of this one. It is built when it is first
// needed, so that a student does not wait for the checks of twenty others.

namespace ringcraft::tool {

// Returns in a program that has the checks of the lesson. Otherwise replaces this process by one that has
// them, with the same arguments: the one beside this program, or else one that the launcher builds. Throws
// Error if there is neither.
void become_checker(int lesson);

}  // namespace ringcraft::tool
