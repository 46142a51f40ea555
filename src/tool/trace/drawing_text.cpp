// Draws a timeline with letters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ringcraft/core/shown.hpp"
#include "tool/terminal/output.hpp"
#include "tool/trace/drawing.hpp"
#include "tool/trace/time_axis.hpp"

namespace ringcraft::tool {
namespace {

using verify::Activity;
using verify::Colour;
using verify::Lane;

// The sign of an activity, and its colour on a terminal.
struct Sign {
  char letter;
  int colour;
};

constexpr Sign sign_of(Activity activity) {
  switch (activity) {
    case Activity::kCompute:
      return {'#', 34};
    case Activity::kOverlap:
      return {'%', 36};
    case Activity::kCopy:
      return {'~', 33};
    case Activity::kWait:
      return {'-', 31};
    case Activity::kIdle:
      break;
  }
  return {'.', 90};
}

std::string painted(const std::string& letters, Activity activity, Colour colour) {
  if (colour == Colour::kPlain) return letters;
  return fmt::format("\x1b[{}m{}\x1b[0m", sign_of(activity).colour, letters);
}

// The activity that fills most of each of `width` columns.
std::vector<Activity> columns_for(const Lane& lane, double seconds, std::size_t width) {
  std::vector<Activity> columns;
  std::size_t at = 0;  // the first stretch that reaches into the column
  for (std::size_t column = 0; column < width; ++column) {
    const double begin = seconds * static_cast<double>(column) / static_cast<double>(width),
                 end = seconds * static_cast<double>(column + 1) / static_cast<double>(width);
    std::array<double, verify::kActivities.size()> part{};
    while (at < lane.stretches.size() && lane.stretches[at].end <= begin) ++at;
    for (std::size_t i = at; i < lane.stretches.size() && lane.stretches[i].begin < end; ++i)
      part[static_cast<std::size_t>(lane.stretches[i].activity)] +=
          std::min(end, lane.stretches[i].end) - std::max(begin, lane.stretches[i].begin);
    columns.push_back(part == decltype(part){}
                          ? Activity::kIdle
                          : static_cast<Activity>(std::ranges::max_element(part) - part.begin()));
  }
  return columns;
}

std::string line_of(const std::vector<Activity>& columns, Colour colour) {
  std::string line;
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t end = i;
    while (end < columns.size() && columns[end] == columns[i]) ++end;
    line += painted(std::string(end - i, sign_of(columns[i]).letter), columns[i], colour);
    i = end;
  }
  return line;
}

// Numbers below the columns of their times, and the unit.
std::string axis_text(double seconds, std::size_t indent, std::size_t width) {
  const TimeAxis axis(seconds);
  std::string marks(indent + width, ' '), labels(indent + width + 8, ' ');
  for (const TimeAxis::Tick& tick : axis.ticks(std::max<std::size_t>(2, width / 12))) {
    const double share = seconds > 0 ? tick.seconds / seconds : 0;
    const auto column =
        indent + std::min(width - 1, static_cast<std::size_t>(share * static_cast<double>(width)));
    marks[column] = '|';
    labels.replace(column, tick.label.size(), tick.label);
  }
  const auto trimmed = [](const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1); };
  return trimmed(marks) + "\n" + trimmed(labels) + " " + axis.unit() + "\n";
}

// As many entries to a line as fit.
std::string legend_text(std::size_t width, Colour colour) {
  std::string legend;
  std::size_t taken = 0;  // columns of the last line
  for (const Activity activity : verify::kActivities) {
    const std::string_view words = name_of(activity);
    const std::size_t columns = words.size() + 3;
    const bool fits = taken > 0 && taken + 2 + columns <= width;
    if (taken > 0) legend += fits ? "  " : "\n";
    legend += painted(std::string(2, sign_of(activity).letter), activity, colour) + " " + std::string(words);
    taken = fits ? taken + 2 + columns : columns;
  }
  return legend + "\n";
}

}  // namespace

std::string_view name_of(Activity activity) {
  switch (activity) {
    case Activity::kCompute:
      return "computes, no message under way";
    case Activity::kOverlap:
      return "computes while messages are under way";
    case Activity::kCopy:
      return "messages alone are under way";
    case Activity::kWait:
      return "waits for messages";
    case Activity::kIdle:
      break;
  }
  return "nothing recorded";
}

std::string Drawing::left_out_words() const {
  return counted(left_out(), "rank") +
         " left out; shown are the first, the last and those that compute longest";
}

std::string lanes_text(const Drawing& drawing, std::size_t width, Colour colour) {
  const std::string last = fmt::format("rank {} ", drawing.timeline.lanes.size() - 1);
  const std::size_t indent = last.size(), room = std::max<std::size_t>(width, indent + 21) - indent - 1;
  std::string text = drawing.title + "\n\n";
  int next = 0;
  for (const int rank : drawing.ranks) {
    if (rank > next) text += fmt::format("{:>{}}\n", ": ", indent);
    text += fmt::format("{:<{}}", fmt::format("rank {}", rank), indent) +
            line_of(columns_for(drawing.lane(rank), drawing.timeline.seconds, room), colour) + "\n";
    next = rank + 1;
  }
  text += axis_text(drawing.timeline.seconds, indent, room) + "\n" + legend_text(width, colour);
  if (drawing.left_out() > 0) text += drawing.left_out_words() + ".\n";
  return text;
}

std::string sums_text(const Drawing& drawing) {
  const TimeAxis axis(drawing.timeline.seconds);
  const std::string unit = axis.unit();
  const bool metered =
      std::ranges::any_of(drawing.timeline.lanes, [](const Lane& lane) { return lane.peak_bytes > 0; });
  std::string text = fmt::format("{:>6}  {:>12}  {:>9}  {:>13}  {:>12}  {:>10}  {:>8}{}\n", "rank",
                                 "computes, " + unit, "share", "waits, " + unit, "starts, " + unit, "sent",
                                 "messages", metered ? "  peak memory" : "");
  for (const int rank : drawing.ranks) {
    const Lane& lane = drawing.lane(rank);
    const double share = drawing.timeline.seconds > 0 ? 100 * lane.computing() / drawing.timeline.seconds : 0;
    text += fmt::format(
        "{:>6}  {:>12}  {:>7.1f} %  {:>13}  {:>12}  {:>10}  {:>8}{}\n", rank, axis.number(lane.computing()),
        share, axis.number(lane.in(Activity::kWait)), axis.number(lane.starting),
        bytes_text(static_cast<double>(lane.bytes_sent)), lane.messages_sent,
        metered ? fmt::format("  {:>11}", bytes_text(static_cast<double>(lane.peak_bytes))) : "");
  }
  return text;
}

}  // namespace ringcraft::tool
