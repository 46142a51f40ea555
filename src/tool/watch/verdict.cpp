// A child that checks, and the short form of what it found (see verdict.hpp).
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
    row.causes.push_back({each.at("id"), each.at("sentence"), each.at("question")});
  return row;
}

// The warnings of a file that compiles, at most this many lines.
std::string warnings_of(const Report& report, std::size_t most_lines) {
  for (const ReportRow& row : report.rows) {
    if (row.status != Status::kPassed || row.sentence.empty() || !row.id.ends_with(".compiles")) continue;
    std::string text;
    std::size_t at = 0;
    for (std::size_t i = 0; i < most_lines && at < row.sentence.size(); ++i) {
      const auto end = std::min(row.sentence.find('\n', at), row.sentence.size());
      text += "  " + row.sentence.substr(at, end - at) + "\n";
      at = end + 1;
    }
    return text + (at < row.sentence.size() ? "  ...\n" : "");
  }
  return {};
}

// "  passed   compiles, belongs, identity"
std::string names_of(const Report& report, Status status) {
  std::string names;
  for (const ReportRow& row : report.rows)
    if (row.status == status) names += (names.empty() ? "" : ", ") + row.id.substr(row.id.rfind('.') + 1);
  return names.empty() ? "" : fmt::format("  {:7}  {}\n", verify::name_of(status), names);
}

std::string last_line(const std::string& text) { return text.substr(text.rfind('\n', text.size() - 2) + 1); }

std::string without_last_line(const std::string& text) {
  return text.substr(0, text.size() - last_line(text).size());
}

// The first lines of a text, each with its line end.
std::string first_lines(const std::string& text, std::size_t count) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < count && at < text.size(); ++i) at = text.find('\n', at) + 1;
  return text.substr(0, at);
}

// The title, the first failure whole, and every other one as a line.
std::string failures(const Report& report, verify::Colour colour, std::size_t width) {
  Report first{report.title, {}}, others;
  for (const ReportRow& row : report.rows) {
    if (row.status != Status::kFailed) continue;
    if (first.rows.empty())
      first.rows.push_back(row);
    else
      others.rows.push_back({.id = row.id, .claim = row.claim, .status = row.status, .figures = {}});
  }
  if (first.rows.empty()) return report.title + "\n";
  std::string text = folded(without_last_line(verify::text_of(first, colour)), width);
  const std::string lines = without_last_line(verify::text_of(others, colour));
  for (auto at = lines.find('\n') + 1; at < lines.size(); at = lines.find('\n', at) + 1)
    text += cut(std::string_view(lines).substr(at, lines.find('\n', at) - at), width) + "\n";
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
  const std::string warnings = folded(warnings_of(report, 6), window.columns);
  const std::string rest = folded(names_of(report, Status::kSkipped) + names_of(report, Status::kPassed) +
                                      last_line(verify::text_of(report, colour)),
                                  window.columns);
  std::string text = failures(report, colour, window.columns);
  const std::size_t taken = lines_of(warnings) + lines_of(rest) + 3;  // the line above, the line below, keys
  const std::size_t room = std::max<std::size_t>(window.lines, taken + 8) - taken;
  const bool fits = lines_of(text) <= room;
  if (!fits) text = first_lines(text, room);
  return text + warnings + rest + (fits ? "" : "(cut to the window; a shows all)\n");
}

}  // namespace ringcraft::tool
