#pragma once
/// @file
/// Who holds what, as somebody says it: for each lane of a warp and each of its values a place, and how two
/// such accounts differ.

#include <cstddef>
#include <string>
#include <vector>

namespace ringcraft::layouts {

/// Of a matrix; or of the rows that lanes bring: the lane, and a number of its row.
struct Place {
  int row, column;
  bool operator==(const Place&) const = default;
};
/// Stands where no place, or no single one, was seen.
inline constexpr Place kNowhere{-1, -1};

/// The places of a warp's values, lane after lane.
struct LaneMap {
  std::string name;  ///< of the instruction and its operand
  int lanes = 32, values = 0;
  std::vector<Place> places = {};  ///< [lanes, values]

  /// Value `value` of this lane.
  const Place& at(int lane, int value) const { return places[lane * values + value]; }
};

/// The numbers that instructions multiply and load.
enum class Format { kBf16, kHalf };
/// Of a product C += A B.
enum class Operand { kA, kB, kC };
/// The forms of ldmatrix.
enum class Load { kX4, kX4Trans, kX2, kX2Trans };

/// What a comparison has found.
struct Comparison {
  std::size_t compared = 0, different = 0;  ///< values
  std::string report;                       ///< a line for each lane that differs
};

/// Compares every value of every lane. A lane that holds what is expected of another one is said to.
Comparison compare(const LaneMap& observed, const LaneMap& expected);

/// The same with two lanes in each other's place.
LaneMap with_lanes_swapped(LaneMap map, int one, int other);

}  // namespace ringcraft::layouts
