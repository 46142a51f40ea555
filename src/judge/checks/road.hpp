#pragma once
/// @file
/// The road: all lessons of the course, those to come included, as a student sees them. Each is declared in
/// its own folder, by lessons/NNN_name/lesson.json, from which the build writes the table.

#include <string>
#include <vector>

namespace ringcraft::judge {

/// One lesson on the road.
struct RoadLine {
  int number;           ///< 104
  std::string title;    ///< "Merge"
  std::string chapter;  ///< "one device"
  std::string line;     ///< its subject, in one sentence
};

/// All of them, by number.
const std::vector<RoadLine>& road();

}  // namespace ringcraft::judge
