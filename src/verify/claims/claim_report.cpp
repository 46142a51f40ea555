// Renders the verdict on a claim as text, with causes and places before the table, and as JSON with the
// members that claim_report.hpp lists.
#include "verify/claims/claim_report.hpp"

#include <nlohmann/json.hpp>

#include "verify/report/screen.hpp"

namespace ringcraft::verify {
namespace {

using nlohmann::json;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string judged_line(const ClaimVerdict& verdict) {
  if (verdict.not_judged.empty()) return "";
  std::vector<std::string> others;
  for (const NotJudged& each : verdict.not_judged) others.push_back(each.tensor);
  return std::string(verdict.half ? "half judged: " : "judged: ") + joined(verdict.judged) +
         "; not judged: " + joined(others);
}

json json_of(const Reading& r) {
  return {{"tensor", r.tensor}, {"shape", r.shape}, {"order", r.order},    {"documented", r.documented},
          {"other", r.other},   {"rows", r.rows},   {"padding", r.padding}};
}

json json_of(const FirstWrong& first) {
  const Difference& d = first.difference;
  return {{"tensor", d.tensor}, {"batch", d.batch},   {"head", d.head},   {"position", d.position},
          {"column", d.column}, {"rank", first.rank}, {"row", first.row}, {"got", d.got},
          {"want", d.want},     {"bound", d.bound}};
}

json json_of(const GroupFault& fault) {
  static constexpr const char* kGroups[] = {"row", "head", "rank", "tensor", "all cases"};
  static constexpr const char* kFigures[] = {"size", "scale", "shift"};
  return {{"tensor", fault.tensor},
          {"group", kGroups[static_cast<std::size_t>(fault.group)]},
          {"figure", kFigures[static_cast<std::size_t>(fault.figure)]},
          {"batch", fault.batch},
          {"head", fault.head},
          {"position", fault.position},
          {"rank", fault.rank},
          {"value", fault.value},
          {"bound", fault.bound}};
}

}  // namespace

std::string text_of(const ClaimVerdict& verdict, Colour colour) {
  std::vector<std::string> lines;
  if (!verdict.files.rows.empty()) lines.push_back("read: " + verdict.files.rows);
  for (std::string& line : sentences_of(verdict.readings, verdict.good ? Doubt::kUnlikely : Doubt::kAll))
    lines.push_back(std::move(line));
  lines.push_back(judged_line(verdict));
  std::vector<std::string> places{verdict.summary, verdict.place};
  places.insert(places.end(), verdict.remarks.begin(), verdict.remarks.end());
  if (!verdict.good) {  // causes and places come first
    std::swap(places[0], places[1]);
    places.insert(places.end(), lines.begin(), lines.end());
    return screen_text_of(verdict.report, places, colour);
  }
  lines.insert(lines.end(), places.begin(), places.end());
  std::string text = text_of(verdict.report, colour);
  for (const std::string& line : lines)
    if (!line.empty()) text += line + "\n";
  return text;
}

std::string json_of(const ClaimVerdict& verdict) {
  json all = json::parse(json_of(verdict.report));
  all["rule"] = verdict.rule;
  all["judged"] = verdict.judged;
  all["not_judged"] = json::array();
  for (const NotJudged& each : verdict.not_judged)
    all["not_judged"].push_back({{"tensor", each.tensor}, {"reason", each.reason}});
  all["read"] = json::array();
  for (const Reading& reading : verdict.readings) all["read"].push_back(json_of(reading));
  all["files"] = {
      {"count", verdict.files.count}, {"per_rank", verdict.files.per_rank}, {"rows", verdict.files.rows}};
  all["first"] = verdict.first ? json_of(*verdict.first) : json();
  all["together"] = json::array();
  for (const GroupFault& fault : verdict.together) all["together"].push_back(json_of(fault));
  all["place"] = verdict.place;
  all["remarks"] = verdict.remarks;
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace ringcraft::verify
