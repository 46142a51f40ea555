#pragma once
/// @file
/// Layouts of registers as plain tables: for each lane of a warp and each of its values a place. Two tables
/// of the same instruction, one seen and one expected, are compared value by value.

#include <cstddef>
#include <string>
#include <vector>

namespace ringcraft::layouts {

/// In a matrix, row and column; in rows that lanes load, the lane and the index within its row.
struct Place {
  int row, column;
  bool operator==(const Place&) const = default;
};
/// Means that no place, or no single one, was seen.
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

/// The result of a comparison.
struct Comparison {
  std::size_t compared = 0, different = 0;  ///< values
  std::string report;                       ///< a line for each lane that differs
};

/// Compares every value of every lane, and names the lanes that hold the values of another one.
Comparison compare(const LaneMap& observed, const LaneMap& expected);

/// The same map, with two lanes swapped.
LaneMap with_lanes_swapped(LaneMap map, int one, int other);

}  // namespace ringcraft::layouts
