// Chooses units and ticks.
#include "tool/trace/time_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ringcraft::tool {

TimeAxis::TimeAxis(double seconds) : seconds_(seconds) {
  for (const char* smaller : {"ms", "us", "ns"}) {
    if (seconds_ <= 0 || seconds_ * scale_ >= 1) break;
    scale_ *= 1e3;
    unit_ = smaller;
  }
}

std::string TimeAxis::number(double seconds) const {
  const double units = seconds * scale_, length = seconds_ * scale_;
  return fmt::format("{:.{}f}", units, length < 10 ? 2 : 1);
}

std::string TimeAxis::words(double seconds) const { return number(seconds) + " " + unit_; }

std::vector<TimeAxis::Tick> TimeAxis::ticks(std::size_t most) const {
  const double length = seconds_ * scale_;
  if (length <= 0) return {{0, "0"}};
  const double least = length / static_cast<double>(std::max<std::size_t>(most, 2) - 1);
  double step = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {2.0, 2.5, 2.0})  // 1, 2, 5, 10
    if (step < least * (1 - 1e-9)) step *= factor;
  std::vector<Tick> ticks;
  for (int i = 0; i * step <= length * (1 + 1e-9); ++i)
    ticks.push_back({i * step / scale_, fmt::format("{:g}", i * step)});
  return ticks;
}

}  // namespace ringcraft::tool
