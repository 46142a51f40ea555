#pragma once
// The axis of a drawing in time: the unit that fits its length, and round numbers along it.

#include <string>
#include <vector>

namespace ringcraft::tool {

// A time axis from 0 to `seconds`.
class TimeAxis {
 public:
  explicit TimeAxis(double seconds);

  // "s", "ms", "us" or "ns": the largest that leaves at least one unit of it.
  std::string unit() const { return unit_; }
  // A time of the axis: "12.3 ms".
  std::string words(double seconds) const;
  // The same without the unit.
  std::string number(double seconds) const;

  struct Tick {
    double seconds;
    std::string label;  // without the unit
  };
  // Multiples of 1, 2 or 5 times a power of ten from 0 to the end, at most `most` (2 or more) of them.
  std::vector<Tick> ticks(std::size_t most) const;

 private:
  double seconds_, scale_ = 1;  // units per second
  const char* unit_ = "s";
};

}  // namespace ringcraft::tool
