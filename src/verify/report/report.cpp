// Renders a report as text, in full, on one screen or in brief.
#include "verify/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ringcraft/core/shown.hpp"
#include "verify/report/screen.hpp"

namespace ringcraft::verify {

std::string_view name_of(Status status) {
  switch (status) {
    case Status::kPassed:
      return "passed";
    case Status::kFailed:
      return "failed";
    case Status::kSkipped:
      return "skipped";
  }
  return "?";
}

int Report::count(Status status) const {
  return static_cast<int>(
      std::count_if(rows.begin(), rows.end(), [=](const auto& r) { return r.status == status; }));
}

bool Report::good() const { return count(Status::kFailed) == 0 && count(Status::kPassed) > 0; }

double Report::points() const {
  double sum = 0;
  for (const ReportRow& row : rows) sum += row.status == Status::kPassed ? row.weight : 0;
  return sum;
}

double Report::all_points() const {
  double sum = 0;
  for (const ReportRow& row : rows) sum += row.weight;
  return sum;
}

std::string text_of(const Figure& figure) {
  const std::string_view space = figure.unit.empty() ? "" : " ";
  std::string text = fmt::format("{}: {:.6g}{}{}", figure.name, figure.value, space, figure.unit);
  if (figure.theory) text += fmt::format(" (theory {:.6g}{}{})", *figure.theory, space, figure.unit);
  return text;
}

namespace {

std::string painted(std::string_view text, Status status, Colour colour) {
  if (colour == Colour::kPlain) return std::string(text);
  const int code = status == Status::kPassed ? 32 : status == Status::kFailed ? 31 : 33;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

// Adds lines below a row, indented under its claim.
void add_lines(std::string& text, std::string_view lines, std::size_t indent) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    text += fmt::format("{:{}}{}\n", "", indent, shown_lines(line));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
  }
}

// The meaning of the signs in these pictures.
std::string legend_of(const std::vector<ErrorMap>& maps) {
  const bool shortened = std::ranges::any_of(maps, &is_shortened);
  const bool ranks = std::ranges::any_of(maps, [](const ErrorMap& map) { return map.ranks.size() > 1; });
  return std::string(ranks ? "rows of each rank" : "rows") + " ('.' right, 'x' wrong, 'n' no number" +
         (shortened ? "; a sign stands for several rows, and shows the worst):" : "):");
}

// Adds the causes of a failed row; `besides`: causes of other rows stand above.
void add_causes(std::string& text, const ReportRow& row, bool besides, std::size_t indent) {
  for (const Cause& cause : row.causes) {
    const bool first = &cause == row.causes.data();
    const char* const label = first && !besides ? "likely: " : first || cause.also ? "and:    " : "or:     ";
    add_lines(text, label + cause.sentence, indent);
    if (const auto question = new_question(row, cause); !question.empty())
      add_lines(text, question, indent + 8);
  }
}

// `rows`: the ids of the rows that this is about, where others are explained.
void add_unexplained(std::string& text, const std::string& rows, std::size_t indent) {
  const std::string numbers = rows.empty() ? "these numbers" : "the numbers of " + rows;
  add_lines(text, "no known mistake gives " + numbers + ": go by the first wrong place", indent);
}

// Adds help below a failed row: places, causes, and the next thing to try.
void add_help(std::string& text, const ReportRow& row, std::size_t indent) {
  if (!row.maps.empty()) add_lines(text, legend_of(row.maps), indent);
  for (const ErrorMap& map : row.maps) add_lines(text, picture_of(map), indent + 2);
  add_causes(text, row, false, indent);
  if (row.unexplained) add_unexplained(text, "", indent);
  if (!row.hint.empty()) add_lines(text, "hint: " + row.hint, indent);
}

std::size_t width_of_ids(const Report& report) {
  std::size_t width = 0;
  for (const ReportRow& row : report.rows) width = std::max(width, row.id.size());
  return width;
}

std::string painted_name(Status status, Colour colour) {
  return painted(fmt::format("{:7}", name_of(status)), status, colour);
}

// "  failed   104.identity  merging with the identity changes nothing"
std::string line_of(const ReportRow& row, std::size_t width, Colour colour) {
  return fmt::format("  {}  {:{}}  {}\n", painted_name(row.status, colour), shown_lines(row.id), width,
                     row.claim);
}

void add_below(std::string& text, const ReportRow& row, std::size_t indent) {
  add_lines(text, row.remark, indent);
  if (row.status != Status::kPassed) add_lines(text, row.sentence, indent);
  if (row.status == Status::kFailed) add_help(text, row, indent);
  for (const Figure& figure : row.figures) add_lines(text, text_of(figure), indent);
}

std::string whole_row(const ReportRow& row, std::size_t width, Colour colour) {
  std::string text = line_of(row, width, colour);
  add_below(text, row, 2 + 7 + 2 + width + 2);  // under the claim
  return text;
}

std::string summary(const Report& report, Colour colour) {
  return painted(fmt::format("{} passed, {} failed, {} skipped; {:g} of {:g} points",
                             report.count(Status::kPassed), report.count(Status::kFailed),
                             report.count(Status::kSkipped), report.points(), report.all_points()),
                 report.good() ? Status::kPassed : Status::kFailed, colour) +
         "\n" + (report.seed ? fmt::format("the same numbers again: --seed {}\n", *report.seed) : "");
}

// "  passed   compiles, belongs, identity"
std::string names_of(const Report& report, Status status, Colour colour) {
  std::string names;
  for (const ReportRow& row : report.rows)
    if (row.status == status) names += (names.empty() ? "" : ", ") + row.id.substr(row.id.rfind('.') + 1);
  return names.empty() ? "" : fmt::format("  {}  {}\n", painted_name(status, colour), shown_lines(names));
}

std::string beginning(const std::string& remark) {
  constexpr std::size_t kLines = 6;
  const std::string first = first_lines(remark, kLines);
  return first.size() < remark.size() ? first + "..." : first;
}

}  // namespace

std::string text_of(const Report& report, Colour colour) {
  const std::size_t width = width_of_ids(report);
  std::string text = report.title + "\n";
  for (const ReportRow& row : report.rows) text += whole_row(row, width, colour);
  return text + summary(report, colour);
}

std::string_view new_question(const ReportRow& row, const Cause& cause) {
  const auto first = std::ranges::find(row.causes, cause.question, &Cause::question);
  return &*first == &cause ? std::string_view(cause.question) : std::string_view();
}

std::string text_of(const ReportRow& row) {
  std::string text;
  add_below(text, row, 0);
  return text;
}

namespace {

// "  failed   dq   1584 of 1584 elements wrong; largest error / scale: 0.0939207"
std::string short_row(const ReportRow& row, std::size_t width, Colour colour) {
  std::string words = row.status == Status::kPassed ? row.remark : row.sentence;
  if (!row.figures.empty()) words += (words.empty() ? "" : "; ") + text_of(row.figures.front());
  std::ranges::replace(words, '\n', ' ');
  return fmt::format("  {}  {:{}}  {}\n", painted_name(row.status, colour), shown_lines(row.id), width,
                     shown_lines(words));
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace

std::string screen_text_of(const Report& report, const std::vector<std::string>& places, Colour colour) {
  std::string text = report.title + "\n", rest, unexplained;
  std::vector<ErrorMap> maps;
  bool besides = false;
  for (const ReportRow& row : report.rows) {
    rest += short_row(row, width_of_ids(report), colour);
    if (row.status != Status::kFailed) continue;
    add_causes(text, row, besides, 0);
    if (row.unexplained) unexplained += (unexplained.empty() ? "" : ", ") + row.id;
    if (!row.hint.empty()) add_lines(text, "hint: " + row.hint, 0);
    besides = besides || !row.causes.empty();
    maps.insert(maps.end(), row.maps.begin(), row.maps.end());
  }
  if (!unexplained.empty()) add_unexplained(text, besides ? unexplained : "", 0);
  for (const std::string& place : places)
    if (!place.empty()) add_lines(text, place, 0);
  rest += summary(report, colour);
  if (maps.empty()) return text + rest;
  text += legend_of(maps) + "\n";
  std::size_t room = kScreen - std::min(kScreen, lines_in(text) + lines_in(rest));
  bool all = true;
  for (const ErrorMap& map : maps) {
    std::string picture;
    add_lines(picture, picture_of(map), 2);
    const std::size_t lines = lines_in(picture);
    const bool shown = &map == maps.data() || (all && lines + (&map == &maps.back() ? 0u : 1u) <= room);
    if (shown) text += picture, room -= std::min(room, lines);
    if (!shown && all) text += "  (the JSON has those of other tensors)\n";
    all = all && shown;
  }
  return text + rest;
}

BriefText brief_text_of(const Report& report, Colour colour) {
  const auto first = std::ranges::find(report.rows, Status::kFailed, &ReportRow::status);
  const std::size_t width = width_of_ids(report);
  BriefText text{report.title + "\n", "",
                 names_of(report, Status::kSkipped, colour) + names_of(report, Status::kPassed, colour) +
                     summary(report, colour)};
  for (ReportRow row : report.rows) {
    if (row.status != Status::kPassed || row.remark.empty()) continue;
    row.remark = beginning(row.remark);
    text.first += whole_row(row, width, colour);
  }
  if (first == report.rows.end()) return text;
  text.first += whole_row(*first, width, colour);
  for (auto row = first + 1; row != report.rows.end(); ++row)
    if (row->status == Status::kFailed) text.others += line_of(*row, width, colour);
  return text;
}

}  // namespace ringcraft::verify
