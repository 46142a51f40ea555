// Likeness of fingerprints, and the causes that follow from it (see diagnosis.hpp).
#include "judge/verdict/diagnosis.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::judge {
namespace {

constexpr std::size_t kMostCauses = 3;
constexpr std::size_t kMostTold = kMostCauses + 1;  // what was solved for, and what looks like it
constexpr double kCloseBehind =
    0.15;  // a cause that is less likely than the best by more is not worth reading

constexpr double kOtherPlace = 0.25;  // so that the same finding in the same place leaves it behind

bool failed(const Trait& trait) { return trait.sign != sign::kPassed && trait.sign != sign::kSkipped; }

// What a failed check can tell at most: that it failed, in which way, where, and with which numbers.
double weight_of(const Trait& trait) {
  if (!failed(trait)) return 0;
  return 1 + (trait.evidence.empty() ? 0 : 1) + 2;
}

// How far two traits of the same check agree; negative if one of them speaks against the other.
double agreement(const Trait& seen, const Trait& known) {
  if (!failed(seen) && !failed(known)) return 0;
  if (seen.sign == sign::kSkipped || known.sign == sign::kSkipped) return -0.5;  // it was not asked
  if (seen.sign != known.sign) return -2;
  // In another order, or with arrays at other places, others are found out: that speaks against nobody.
  const double elsewhere = seen.sign == sign::kFinding ? kOtherPlace : -1;
  const double where = seen.evidence.empty() ? 0 : seen.evidence == known.evidence ? 1 : elsewhere;
  return 1 + where + (seen.digest == known.digest ? 2 : -1);
}

// The failed checks of a known mistake, if every one of them was asked and failed in just the same way;
// otherwise none.
std::vector<std::string> failed_alike(const Fingerprint& seen, const Misconception& known) {
  std::vector<std::string> checks;
  for (const Trait& trait : known.fingerprint) {
    if (!failed(trait)) continue;
    if (std::ranges::find(seen, trait) == seen.end()) return {};
    checks.push_back(trait.check);
  }
  return checks;
}

}  // namespace

double likeness(const Fingerprint& seen, const Fingerprint& known) {
  double agreed = 0, possible = 0;
  for (const Trait& trait : seen) {
    possible += weight_of(trait);
    const auto other = std::ranges::find(known, trait.check, &Trait::check);
    if (other != known.end()) agreed += agreement(trait, *other);
  }
  return possible > 0 ? agreed / possible : 0;
}

std::vector<verify::Cause> diagnose(const Fingerprint& seen, const std::vector<Misconception>& known) {
  struct Candidate {
    double alike;
    int turn;  // of several rows of one mistake
    const Misconception* row;
  };
  std::map<std::string, std::vector<Candidate>> best;  // of a mistake the rows that are most alike
  for (const Misconception& each : known) {
    const double alike = likeness(seen, each.fingerprint);
    if (alike < kAlikeEnough) continue;
    std::vector<Candidate>& rows = best[each.id];
    if (!rows.empty() && alike > rows.front().alike) rows.clear();
    if (rows.empty() || alike == rows.front().alike)
      rows.push_back({alike, static_cast<int>(rows.size()), &each});
  }
  std::vector<Candidate> order;
  for (const auto& [id, rows] : best) order.insert(order.end(), rows.begin(), rows.end());
  std::ranges::stable_sort(order, [](const Candidate& a, const Candidate& b) {
    return a.alike != b.alike ? a.alike > b.alike : a.turn < b.turn;
  });
  std::vector<verify::Cause> causes;
  for (const auto& [alike, turn, row] : order)
    if (causes.size() < kMostCauses && alike >= order.front().alike - kCloseBehind &&
        std::ranges::find(causes, row->sentence, &verify::Cause::sentence) == causes.end())
      causes.push_back({row->id, row->sentence, row->question});
  return causes;
}

std::vector<Part> parts_of(const Fingerprint& seen, const std::vector<Misconception>& known) {
  std::vector<std::pair<std::vector<std::string>, const Misconception*>> whole;
  std::set<std::string> explained;
  for (const Misconception& each : known) {
    const std::vector<std::string> checks = failed_alike(seen, each);
    if (checks.empty()) continue;
    explained.insert(checks.begin(), checks.end());
    whole.emplace_back(checks, &each);
  }
  const bool all = static_cast<std::ptrdiff_t>(explained.size()) == std::ranges::count_if(seen, failed);
  std::vector<Part> parts;
  std::set<std::string> ids;
  for (const auto& [checks, which] : whole)
    if ((all || checks.size() > 1) && ids.insert(which->id).second)
      parts.push_back({checks.front(), {which->id, which->sentence, which->question}});
  return parts;
}

namespace {

// What gives the numbers of the failed checks.
std::vector<verify::Cause> causes_of(const std::vector<Outcome>& outcomes) {
  std::vector<verify::Exhibit> exhibits;
  for (const Outcome& outcome : outcomes)
    exhibits.insert(exhibits.end(), outcome.exhibits.begin(), outcome.exhibits.end());
  return verify::causes_of(exhibits);
}

// Whether it has what a function made of whatever it was asked: that tells more than any likeness.
bool answers_of_a_function(const Outcome& outcome) {
  return std::ranges::any_of(outcome.exhibits, [](const verify::Exhibit& exhibit) {
    return std::holds_alternative<verify::DealExhibit>(*exhibit) ||
           std::holds_alternative<verify::ChunkExhibit>(*exhibit) ||
           std::holds_alternative<verify::WorkExhibit>(*exhibit) ||
           std::holds_alternative<verify::ProductExhibit>(*exhibit);
  });
}

}  // namespace

void explain(int lesson, Verdict& verdict, const Fingerprint& seen) {
  constexpr double kSame = 0.95;  // of two fingerprints: the same numbers in all checks that say anything
  std::vector<verify::ReportRow>& rows = verdict.report.rows;
  const auto first = std::ranges::find(rows, verify::Status::kFailed, &verify::ReportRow::status);
  if (first == rows.end()) return;
  const auto add = [&](const std::vector<verify::Cause>& causes) {
    for (const verify::Cause& cause : causes)
      if (first->causes.size() < kMostTold &&
          std::ranges::find(first->causes, cause.id, &verify::Cause::id) == first->causes.end())
        first->causes.push_back(cause);
  };
  const std::vector<Misconception> known = read_misconceptions(misconceptions_file(lesson));
  const bool is_known = std::ranges::any_of(
      known, [&](const Misconception& m) { return likeness(seen, m.fingerprint) >= kSame; });
  // What was computed goes before what has looked alike, unless it is told in general words only.
  const std::vector<verify::Cause> solved = causes_of(verdict.outcomes);
  if (is_known && (solved.empty() || verify::is_general(solved.front()))) add(diagnose(seen, known));
  if (is_known) {  // room for what others have called the same numbers
    add({solved.begin(),
         solved.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(solved.size(), 1))});
    add(diagnose(seen, known));
  }
  add(solved);
  if (is_known || std::ranges::any_of(verdict.outcomes, answers_of_a_function)) return;
  for (const auto& [check, cause] :
       parts_of(seen, known)) {  // of several mistakes, each where it shows first
    const auto row = std::ranges::find(rows, std::to_string(lesson) + "." + check, &verify::ReportRow::id);
    if (row != rows.end() && (row != first || first->causes.empty()) && row->causes.size() < kMostCauses)
      row->causes.push_back(cause);
  }
}

}  // namespace ringcraft::judge
