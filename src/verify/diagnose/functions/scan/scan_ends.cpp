// Defines the beginnings and ends of a scan, right and wrong ones: which m and l it starts from, and how it
// combines them with its own.
#include "verify/diagnose/functions/scan/scan_ends.hpp"

#include <algorithm>
#include <cmath>

#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kUnseenMaximum = -std::numeric_limits<double>::infinity();

// The lower bound of m, common to all rows whose maximum lies below it.
std::optional<double> solved_start(const std::vector<const ScoreScan*>& rows) {
  std::optional<double> start;
  for (const ScoreScan* row : rows) {
    if (!row->state) return {};
    double largest = row->max_before;
    for (const double score : row->scores) largest = std::max(largest, score);
    const double m = row->state->first;
    if (m == largest) continue;
    if (!(m > largest) || (start && *start != m)) return {};
    start = m;
  }
  return start;
}

// The given state with at least this maximum.
ScanState raised(const ScoreScan& row, double from, bool rescales) {
  const bool keeps = row.sum_before == 0 || row.max_before >= from || !rescales;
  return {{},
          std::max(row.max_before, from),
          keeps ? row.sum_before : row.sum_before * std::exp(row.max_before - from)};
}

double first_visible(const ScoreScan& row) {
  const auto seen = std::ranges::find_if(row.scores, [](double score) { return score != kUnseenMaximum; });
  return seen == row.scores.end() ? kUnseenMaximum : *seen;
}

std::vector<ScanKey> in_one_part(const std::vector<double>& scores) {
  std::vector<ScanKey> part;
  for (const double score : scores) part.push_back({score, score != kUnseenMaximum, {}});
  return part;
}

// Sums each exponential relative to the maximum so far; `joined` adds the old sum, with the factor that the
// last maximum requires.
std::pair<double, double> momentary_end(const ScoreScan& row,
                                        double (*joined)(double l, double factor, double sum)) {
  double m = row.max_before, sum = 0;
  for (const double score : row.scores) {
    m = std::max(m, score);
    if (score != kUnseenMaximum) sum += std::exp(score - m);
  }
  const double factor = row.max_before == kUnseenMaximum ? 0.0 : std::exp(row.max_before - m);
  return {m, row.max_before == kUnseenMaximum ? sum : joined(row.sum_before, factor, sum)};
}

// Scans the new scores separately and then combines both states: the factors of the two sums.
enum class Joined : std::uint8_t { kPlain, kNewGiven, kOldGiven, kCrossed, kMean, kLarger };
std::pair<double, double> joined_end(const ScoreScan& row, Joined how) {
  const ScanState own = scanned({}, {in_one_part(row.scores)}, {}, {});
  if (own.max == kUnseenMaximum) return {row.max_before, row.sum_before};
  const double m = std::max(row.max_before, own.max);
  const double old_factor = std::exp(row.max_before - m), new_factor = std::exp(own.max - m);
  const double l0 = row.sum_before, l = own.sum;
  switch (how) {
    case Joined::kNewGiven:
      return {m, old_factor * l0 + l};
    case Joined::kOldGiven:
      return {m, l0 + new_factor * l};
    case Joined::kCrossed:
      return {m, new_factor * l0 + old_factor * l};
    case Joined::kMean:
      return {m, (old_factor * l0 + new_factor * l) / 2};
    case Joined::kLarger:
      return {m, row.max_before > own.max ? l0 : l};
    case Joined::kPlain:
      break;
  }
  return {m, l0 + l};
}

// exp(score) without a maximum, corrected at the end.
std::pair<double, double> plain_end(const ScoreScan& row, const ScanState& end, bool guarded) {
  double total = row.sum_before == 0 ? 0 : row.sum_before * std::exp(row.max_before);
  for (const double score : row.scores) total += std::exp(score);
  if (total == 0 && guarded) return {row.max_before, row.sum_before};
  return {end.max, total / std::exp(end.max)};
}

constexpr ScanEnd kEnds[] = {
    {"", "",
     [](const ScoreScan&, const ScanState& s) {
       return std::pair{s.max, s.sum};
     }},
    {"scan-end", "m + log l is handed out as the maximum, with 1 for the sum",
     [](const ScoreScan&, const ScanState& s) {
       return s.sum == 0 ? std::pair{kUnseenMaximum, 0.0} : std::pair{s.max + std::log(s.sum), 1.0};
     }},
    {"scan-end", "m + log l is handed out as the maximum, with 1 for the sum, also where nothing is seen",
     [](const ScoreScan&, const ScanState& s) {
       return std::pair{s.sum == 0 ? kUnseenMaximum : s.max + std::log(s.sum), 1.0};
     }},
    {"scan-end", "m + log l is handed out as the maximum, beside l",
     [](const ScoreScan&, const ScanState& s) {
       return std::pair{s.max + std::log(s.sum), s.sum};
     }},
    {"scan-end", "m and l are exchanged",
     [](const ScoreScan&, const ScanState& s) {
       return std::pair{s.sum, s.max};
     }},
    {"scan-end", "log l is handed out as l",
     [](const ScoreScan&, const ScanState& s) {
       return std::pair{s.max, std::log(s.sum)};
     }},
    {"scan-end", "m + log l is handed out as l",
     [](const ScoreScan&, const ScanState& s) {
       return std::pair{s.max, s.max + std::log(s.sum)};
     }},
    {"scan-end", "the sum that is handed out is 1",
     [](const ScoreScan&, const ScanState& s) {
       return std::pair{s.max, 1.0};
     }},
    {"scan-end", "1 / l is handed out as l",
     [](const ScoreScan&, const ScanState& s) {
       return std::pair{s.max, 1 / s.sum};
     }},
    {"scan-end", "l is divided by the number of scores",
     [](const ScoreScan& row, const ScanState& s) {
       return std::pair{s.max, s.sum / static_cast<double>(row.scores.size())};
     }},
    {"scan-end", "the new maximum is used, but the old one is handed out",
     [](const ScoreScan& row, const ScanState& s) {
       return std::pair{row.max_before, s.sum};
     }},
    {"scan-end", "the new sum goes nowhere: the old one is handed out",
     [](const ScoreScan& row, const ScanState& s) {
       return std::pair{s.max, row.sum_before};
     }},
    {"scan-end", "the sum is brought to the maximum 0, which is handed out",
     [](const ScoreScan&, const ScanState& s) {
       return std::pair{0.0, s.sum * std::exp(s.max)};
     }},
    {"scan-max-none",
     "the exponentials are added without a maximum, and divided by exp(m) at the end: they overflow above "
     "709, and vanish below -745",
     [](const ScoreScan& row, const ScanState& s) { return plain_end(row, s, true); }},
    {"scan-max-none",
     "the exponentials are added without a maximum, and divided by exp(m) at the end, also where both are 0: "
     "they overflow above 709, and vanish below -745",
     [](const ScoreScan& row, const ScanState& s) { return plain_end(row, s, false); }},
    {"scan-sums-added",
     "the new scores are scanned by themselves, and the sums are added as they are, though each follows a "
     "maximum of its own",
     [](const ScoreScan& row, const ScanState&) { return joined_end(row, Joined::kPlain); }},
    {"scan-sums-added",
     "the new scores are scanned by themselves, and their sum is added as it is, also where the given "
     "maximum is larger than theirs",
     [](const ScoreScan& row, const ScanState&) { return joined_end(row, Joined::kNewGiven); }},
    {"scan-sums-added",
     "the new scores are scanned by themselves, and the given sum is added as it is, also where their "
     "maximum is larger than the given one",
     [](const ScoreScan& row, const ScanState&) { return joined_end(row, Joined::kOldGiven); }},
    {"scan-sums-added",
     "the new scores are scanned by themselves, and the factors of the two sums are exchanged",
     [](const ScoreScan& row, const ScanState&) { return joined_end(row, Joined::kCrossed); }},
    {"scan-sums-added", "the new scores are scanned by themselves, and the mean of the two sums is taken",
     [](const ScoreScan& row, const ScanState&) { return joined_end(row, Joined::kMean); }},
    {"scan-factor-late",
     "the exponentials of a piece are taken against the maximum so far and do not follow it: only the sum "
     "that is given is rescaled, once",
     [](const ScoreScan& row, const ScanState&) {
       return momentary_end(row, [](double l, double factor, double sum) { return factor * l + sum; });
     }},
    {"scan-factor-late",
     "the exponentials of a piece are taken against the maximum so far, and all of them are rescaled from "
     "the given maximum at the end",
     [](const ScoreScan& row, const ScanState&) {
       return momentary_end(row, [](double l, double factor, double sum) { return factor * (l + sum); });
     }},
    {"scan-factor-one-sum",
     "the exponentials of a piece are taken against the maximum so far, and nothing is rescaled",
     [](const ScoreScan& row, const ScanState&) {
       return momentary_end(row, [](double l, double, double sum) { return l + sum; });
     }},
    {"scan-sums-added",
     "the new scores are scanned by themselves, and only the sum of the side with the larger maximum is kept",
     [](const ScoreScan& row, const ScanState&) { return joined_end(row, Joined::kLarger); }},
    {"scan-begins-one", "l begins at 1 where nothing was seen before: the first score counts twice",
     [](const ScoreScan& row, const ScanState& s) {
       const double first = first_visible(row);
       if (row.sum_before != 0) return std::pair{s.max, s.sum};
       return std::pair{s.max, first == kUnseenMaximum ? 1.0 : s.sum + std::exp(first - s.max)};
     }},
    {"scan-first-one", "the first score of a piece counts 1, also where the given maximum is larger",
     [](const ScoreScan& row, const ScanState& s) {
       const double first = row.scores.empty() ? kUnseenMaximum : row.scores.front();
       if (first == kUnseenMaximum) return std::pair{s.max, s.sum};
       const double then = std::max(first, row.max_before);
       return std::pair{s.max, s.sum + (1 - std::exp(first - then)) * std::exp(then - s.max)};
     }},
    {"scan-empty-lost", "a piece without a score returns an empty state instead of the one that it was given",
     [](const ScoreScan& row, const ScanState& s) {
       return row.scores.empty() ? std::pair{kUnseenMaximum, 0.0} : std::pair{s.max, s.sum};
     }},
    {"scan-empty-lost",
     "a piece without a visible score returns an empty state instead of the one that it was given",
     [](const ScoreScan& row, const ScanState& s) {
       return std::ranges::all_of(row.scores, [](double score) { return score == kUnseenMaximum; })
                  ? std::pair{kUnseenMaximum, 0.0}
                  : std::pair{s.max, s.sum};
     }},
    {"scan-empty-zero", "where nothing is seen, m is 0",
     [](const ScoreScan&, const ScanState& s) {
       return std::pair{s.sum == 0 ? 0.0 : s.max, s.sum};
     }},
    {"scan-empty-zero", "where nothing is seen, l is 1",
     [](const ScoreScan&, const ScanState& s) {
       return std::pair{s.max, s.sum == 0 ? 1.0 : s.sum};
     }},
};

}  // namespace

std::span<const ScanEnd> scan_ends() { return kEnds; }

std::vector<ScanBegin> scan_begins(const std::vector<const ScoreScan*>& rows) {
  std::vector<ScanBegin> all{
      {"", "",
       [](const ScoreScan& row) {
         return ScanState{{}, row.max_before, row.sum_before};
       }},
      {"scan-begins-anew", "the state that is given is not looked at: every scan begins anew",
       [](const ScoreScan&) { return ScanState{}; }},
      {"scan-begins-anew", "the maximum of the state that is given is taken over, its sum is lost",
       [](const ScoreScan& row) {
         return ScanState{{}, row.max_before, 0};
       }},
      {"scan-begins-anew", "the sum of the state that is given is taken over, its maximum is not looked at",
       [](const ScoreScan& row) {
         return ScanState{{}, kUnseenMaximum, row.sum_before};
       }},
      {"scan-begins-twice", "the sum of the state that is given counts twice",
       [](const ScoreScan& row) {
         return ScanState{{}, row.max_before, 2 * row.sum_before};
       }},
      {"scan-begins-one", "l begins at 1 instead of the sum of the state that is given",
       [](const ScoreScan& row) {
         return ScanState{{}, row.max_before, 1};
       }},
      {"scan-begins-one", "1 is added to the sum of the state that is given", [](const ScoreScan& row) {
         return ScanState{{}, row.max_before, row.sum_before + 1};
       }}};
  if (const auto start = solved_start(rows))
    for (const bool rescales : {true, false})
      for (const bool always : {false, true})
        all.push_back({*start == 0 ? "scan-max-zero" : "scan-max-start",
                       "the maximum begins at " + short_number(*start) +
                           " instead of -inf: scores that all lie below it never set it" +
                           (rescales ? "" : ", and the sum of the state that is given does not follow it"),
                       [=, from = *start](const ScoreScan& row) {
                         return raised(row, always || !row.scores.empty() ? from : kUnseenMaximum, rescales);
                       }});
  return all;
}

}  // namespace ringcraft::verify
