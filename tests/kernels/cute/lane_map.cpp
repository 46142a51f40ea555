// Compares layouts of lanes.
#include "lane_map.hpp"

#include <algorithm>
#include <span>

namespace ringcraft::layouts {
namespace {

std::span<const Place> places_of(const LaneMap& map, int lane) {
  return std::span(map.places).subspan(static_cast<std::size_t>(lane * map.values), map.values);
}

std::string text(Place place) {
  return "(" + std::to_string(place.row) + ", " + std::to_string(place.column) + ")";
}

// One line on a lane that differs.
std::string line_on(const LaneMap& observed, const LaneMap& expected, int lane) {
  const auto mine = places_of(observed, lane);
  std::string line = observed.name + ": lane " + std::to_string(lane);
  for (int other = 0; other < expected.lanes; ++other)
    if (std::ranges::equal(mine, places_of(expected, other)))
      return line + " holds what is expected of lane " + std::to_string(other) + "\n";
  int value = 0;
  while (observed.at(lane, value) == expected.at(lane, value)) ++value;
  return line + ", value " + std::to_string(value) + ": at " + text(observed.at(lane, value)) +
         ", expected at " + text(expected.at(lane, value)) + "\n";
}

}  // namespace

Comparison compare(const LaneMap& observed, const LaneMap& expected) {
  const std::size_t size = static_cast<std::size_t>(expected.lanes) * expected.values;
  if (observed.lanes != expected.lanes || observed.values != expected.values ||
      observed.places.size() != size || expected.places.size() != size)
    return {0, size, observed.name + ": not of the same size\n"};
  Comparison found;
  for (int lane = 0; lane < expected.lanes; ++lane) {
    std::size_t different = 0;
    for (int value = 0; value < expected.values; ++value) {
      ++found.compared;
      different += observed.at(lane, value) != expected.at(lane, value);
    }
    found.different += different;
    if (different > 0) found.report += line_on(observed, expected, lane);
  }
  return found;
}

LaneMap with_lanes_swapped(LaneMap map, int one, int other) {
  const auto begin_of = [&](int lane) { return map.places.begin() + lane * map.values; };
  std::swap_ranges(begin_of(one), begin_of(one) + map.values, begin_of(other));
  return map;
}

}  // namespace ringcraft::layouts
