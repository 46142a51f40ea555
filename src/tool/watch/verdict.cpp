// Runs a child that checks, and shortens its report.
#include "tool/watch/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/io/text_file.hpp"
#include "tool/terminal/columns.hpp"
#include "tool/terminal/output.hpp"

namespace ringcraft::tool {
namespace {

using verify::Report;
using verify::ReportRow;
using verify::Status;

constexpr const char* kReport = "report.json";
constexpr std::chrono::milliseconds kPatience{500};  // for a check to end its own children

verify::Status status_of(const std::string& name) {
  for (const Status status : {Status::kPassed, Status::kFailed, Status::kSkipped})
    if (verify::name_of(status) == name) return status;
  throw Error("report", "passed, failed or skipped", shown(name), "check again");
}

ReportRow row_of(const nlohmann::json& json) {
  ReportRow row{.id = json.at("id"),
                .claim = json.at("claim"),
                .status = status_of(json.at("status")),
                .weight = json.at("weight"),
                .sentence = json.at("sentence"),
                .hint = json.at("hint"),
                .figures = {}};
  const auto number = [](const nlohmann::json& x) {
    return x.is_number() ? std::optional<double>(x.get<double>()) : std::nullopt;
  };
  for (const auto& each : json.at("figures"))
    row.figures.push_back({each.at("name"), number(each.at("value")).value_or(std::nan("")),
                           number(each.at("theory")), each.at("unit")});
  for (const auto& each : json.at("maps")) row.maps.push_back({each.at("tensor"), each.at("ranks")});
  for (const auto& each : json.at("causes"))
    row.causes.push_back({each.at("id"), each.at("sentence"), each.at("question"), each.at("also")});
  row.remark = json.at("remark");
  return row;
}

// Each line cut to the window.
std::string cut_lines(std::string_view lines, std::size_t width) {
  std::string text;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    text += cut(line, width) + "\n";
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
  }
  return text;
}

}  // namespace

CheckRun::CheckRun(const std::string& id)
    : child_({.arguments = {"/proc/self/exe", "check", id, "--json", folder_.path() / kReport},
              .environment = whole_environment(),
              .output_limit = std::size_t{1} << 20}) {}

CheckRun::~CheckRun() {
  child_.ask_to_end();
  (void)child_.wait_until(process::Clock::now() + kPatience);
}

bool CheckRun::ended() {
  if (child_.read_output() && !child_.flooded()) return false;
  (void)child_.wait_until(process::Clock::now() + kPatience);
  return true;
}

double CheckRun::seconds() const {
  return std::chrono::duration<double>(process::Clock::now() - begin_).count();
}

std::optional<Report> CheckRun::report() const {
  const auto file = folder_.path() / kReport;
  if (!std::filesystem::exists(file)) return std::nullopt;
  return report_of_json(read_text_file("check", file, std::uintmax_t{16} << 20));
}

Report report_of_json(const std::string& json) {
  try {
    const nlohmann::json all = nlohmann::json::parse(json);
    Report report{.title = all.at("title"), .rows = {}};
    for (const auto& row : all.at("rows")) report.rows.push_back(row_of(row));
    return report;
  } catch (const nlohmann::json::exception&) {
    throw Error("report", "a report that check --json has written", "something else", "check again");
  }
}

std::string brief_text(const Report& report, verify::Colour colour, WindowSize window) {
  const verify::BriefText brief = verify::brief_text_of(report, colour);
  const std::string rest = folded(brief.rest, window.columns);
  std::string text = folded(brief.first, window.columns) + cut_lines(brief.others, window.columns);
  const std::size_t taken = lines_of(rest) + 5;  // two empty lines and one above, the line below, keys
  const std::size_t room = std::max<std::size_t>(window.lines, taken + 8) - taken;
  const bool fits = lines_of(text) <= room;
  if (!fits) text = first_lines(text, room);
  return text + rest + (fits ? "" : "(cut to the window; a shows all)\n");
}

}  // namespace ringcraft::tool
