#pragma once
// The lessons that have an exercise, and lists of lessons as people type them: 101-103,201.

#include <set>
#include <string>

namespace ringcraft::tool {

// The lessons that have an exercise, by their numbers.
std::set<int> lessons_with_exercise();
// Those of them whose exercise can be judged on this system.
std::set<int> judged_lessons();

// The lessons that a list names: numbers and ranges of numbers, with commas between them; an empty text names
// none. Both ends of a range must be lessons that are known. Throws Error, with the flag's name, for anything
// else.
std::set<int> lessons_listed(const std::string& flag, const std::string& text, const std::set<int>& known);

// "101-103, 201": neighbours among the known ones become ranges; "none" for an empty set.
std::string listed_lessons(const std::set<int>& lessons, const std::set<int>& known);

}  // namespace ringcraft::tool
