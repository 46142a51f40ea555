// Explains a wrong scan of scores, or a wrong softmax: runs a scan with each mistake on every requested row,
// in parts of several lengths, and compares the results with those returned.
#include "verify/diagnose/twisted/scan.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/agree.hpp"
#include "verify/diagnose/functions/scan/scan_ends.hpp"
#include "verify/diagnose/functions/softmax/softmax_law.hpp"

namespace ringcraft::verify {
namespace {

using Parts = std::vector<std::vector<ScanKey>>;

// The split of the scores into parts.
struct Cut {
  std::size_t length;      // 0: all at once
  bool whole_parts_alone;  // a shorter last part is dropped
  bool of_tiles = false;   // in the tiles that the scan was given

  std::string word() const {
    return of_tiles ? "tile" : length == 0 ? "row" : length == 1 ? "score" : "group";
  }
};
constexpr Cut kCuts[] = {{1, false}, {0, false}, {2, false}, {4, false}, {8, false},
                         {2, true},  {4, true},  {8, true},  {16, true}, {0, false, true}};

// Splits these scores, all of a row or some, into parts.
Parts parts_of(const ScoreScan& row, const std::vector<double>& scores, const Cut& cut) {
  Parts parts;
  const std::size_t given = cut.of_tiles ? row.tile : cut.length, first = cut.of_tiles ? row.first_key : 0;
  const std::size_t length = given == 0 ? std::max<std::size_t>(scores.size(), 1) : given;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (j == 0 || (first + j) % length == 0) parts.emplace_back();
    parts.back().push_back({scores[j], scores[j] != -HUGE_VAL, {}});
  }
  if (cut.whole_parts_alone && !parts.empty() && parts.back().size() < length) parts.pop_back();
  return parts;
}

bool near(const ScanExhibit& x, double got, double want) {
  const bool exact = x.precision == DType::kFloat64;
  return is_unwritten(got) == is_unwritten(want) &&
         agree_or_nan(got, want, exact ? 1e-10 : 1e-4, exact ? 0 : 1e-3);
}

// Treatment of the weights at the end.
enum class Finish : std::uint8_t {
  kRight,
  kNotDivided,
  kByCount,
  kByMax,
  kDividedTwice,
  kBase2,
  kNanForNothing,
  kUnwritten
};
constexpr Finish kFinishes[] = {Finish::kRight,     Finish::kNotDivided,   Finish::kByCount,
                                Finish::kByMax,     Finish::kDividedTwice, Finish::kBase2,
                                Finish::kUnwritten, Finish::kNanForNothing};

double weight_of(Finish finish, const ScanState& state, std::size_t count, double score) {
  const bool nothing = state.max == -HUGE_VAL && !std::isnan(state.sum);
  if (nothing && finish == Finish::kUnwritten) return unwritten();
  if (nothing) return finish == Finish::kNanForNothing ? std::nan("") : 0;
  const double weight = finish == Finish::kBase2 ? std::exp2(score - state.max) : std::exp(score - state.max);
  if (finish == Finish::kNotDivided) return weight;
  if (finish == Finish::kByCount) return weight / static_cast<double>(count);
  if (finish == Finish::kByMax) return weight / state.max;
  return finish == Finish::kDividedTwice ? weight / state.sum / state.sum : weight / state.sum;
}

// One explanation: mistakes of the scan, of its beginning and its end, and scores that it skips.
struct Guess {
  const ScanMistake* first = nullptr;
  const ScanMistake* second = nullptr;
  Cut cut{0, false};
  Finish finish = Finish::kRight;
  const ScanBegin* begin = nullptr;
  const ScanEnd* end = nullptr;
  const SoftmaxCount* range = nullptr;

  // Number of mistakes.
  int mistakes() const {
    return (first != nullptr) + (second != nullptr) + (cut.whole_parts_alone ? 1 : 0) +
           (finish != Finish::kRight ? 1 : 0) + (begin != nullptr) + (end != nullptr) + (range != nullptr);
  }
  std::optional<ScanTwist> twist() const {
    if (first == nullptr) return ScanTwist{};
    return second == nullptr ? std::optional(first->twist) : both(first->twist, second->twist);
  }
  Cause cause() const;
};

// The scores that a scan visits.
std::vector<double> looked_at(const ScoreScan& row, const SoftmaxCount* range) {
  if (range == nullptr) return row.scores;
  const std::vector<double> times = range->of(row.scores);
  std::vector<double> scores;
  for (std::size_t j = 0; j < times.size(); ++j)
    if (times[j] > 0) scores.push_back(row.scores[j]);
  return scores;
}

bool gives(const ScanExhibit& x, const ScoreScan& row, const ScanTwist& twist, const Guess& guess) {
  const ScanState before =
      guess.begin == nullptr ? ScanState{{}, row.max_before, row.sum_before} : guess.begin->of(row);
  const ScanState state = scanned(twist, parts_of(row, looked_at(row, guess.range), guess.cut), before, {});
  if (row.state) {
    const auto [m, l] = guess.end == nullptr ? std::pair{state.max, state.sum} : guess.end->of(row, state);
    if (!near(x, row.state->first, m) || !near(x, row.state->second, l)) return false;
  }
  const Finish last = x.normalized || guess.finish != Finish::kRight ? guess.finish : Finish::kNotDivided;
  const bool nothing_left = state.sum == 0 && state.max != -HUGE_VAL;  // 0 / 0, or 0 by a guard
  for (std::size_t j = 0; j < row.weights.size(); ++j)
    if (!(nothing_left && row.weights[j] == 0) &&
        !near(x, row.weights[j], weight_of(last, state, row.scores.size(), row.scores[j])))
      return false;
  return true;
}

// Rows that a right scan gives say least, and short rows are cheap. If weights overwrite scores, any mistake
// may have further consequences: such rows count only if all others are right.
struct Rows {
  std::vector<const ScoreScan*> to_explain, in_place;
};
Rows in_order(const ScanExhibit& x) {
  std::vector<std::pair<std::pair<bool, std::size_t>, const ScoreScan*>> rows;
  for (const ScoreScan& row : x.rows) rows.push_back({{gives(x, row, {}, {}), row.scores.size()}, &row});
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.first; });
  const bool apart =
      std::ranges::any_of(rows, [](const auto& row) { return !row.first.first && !row.second->shared; });
  Rows all;
  for (const auto& row : rows)
    (apart && row.second->shared ? all.in_place : all.to_explain).push_back(row.second);
  return all;
}

// Removes the parts of a twist about O, which a scan of scores alone does not have.
ScanTwist without_out(ScanTwist twist) {
  twist.out_factor = {}, twist.out_weight = {}, twist.out_when = {}, twist.divisor = {};
  return twist;
}

// Each mistake once. If keys come one by one, a branch that does too little is more common than a factor.
std::vector<const ScanMistake*> mistakes_of_scores(const Cut& cut) {
  std::vector<const ScanMistake*> all;
  for (const ScanMistake& each : scan_mistakes()) {
    const ScanTwist rest = without_out(each.twist);
    const bool twin = rest != each.twist &&
                      std::ranges::find(scan_mistakes(), rest, &ScanMistake::twist) != scan_mistakes().end();
    const bool about_keys = cut.length == 1 && each.twist.keys != ScanTwist::Keys::kAll &&
                            each.twist.keys != ScanTwist::Keys::kTiesLost &&
                            each.twist.keys != ScanTwist::Keys::kNewTwice;
    const bool about_hidden =
        (each.twist.hidden != ScanTwist::Hidden::kNothing && each.twist.hidden != ScanTwist::Hidden::kEnds) ||
        each.twist.max == ScanTwist::Max::kOfHidden;
    if (rest != ScanTwist{} && !twin && !about_keys && !about_hidden) all.push_back(&each);
  }
  for (const ScanMistake& each : scan_mistakes_of_scores()) all.push_back(&each);
  if (cut.length == 1)
    std::stable_partition(all.begin(), all.end(), [](const ScanMistake* each) {
      return each->twist.sum_when != ScanTwist::When::kAlways;
    });
  return all;
}

std::string words_of(Finish finish) {
  switch (finish) {
    case Finish::kNotDivided:
      return "the weights are not divided by l";
    case Finish::kByCount:
      return "the weights are divided by the number of scores instead of l";
    case Finish::kByMax:
      return "the weights are divided by m instead of l";
    case Finish::kDividedTwice:
      return "the weights are divided by l twice";
    case Finish::kBase2:
      return "the weights are 2^(score - m), the sum is to the base e";
    case Finish::kNanForNothing:
      return "a row without a visible score is not treated apart: -inf - (-inf) and 0 / 0 are no numbers";
    case Finish::kUnwritten:
      return "the weights of a row without a visible score are never written: they stay what they were";
    case Finish::kRight:
      break;
  }
  return "";
}

Cause Guess::cause() const {
  Cause cause{
      "", "",
      "Follow your code through a row of 3 scores, with pencil and paper: which number is the first wrong "
      "one?"};
  const auto add = [&](const std::string& id, const std::string& words) {
    if (cause.id.empty()) cause.id = id;
    cause.sentence += (cause.sentence.empty() ? "" : "; and ") + words;
  };
  if (first != nullptr) cause.question = with_part(first->question, cut.word());
  for (const ScanMistake* each : {first, second})
    if (each != nullptr) add(each->id, with_part(each->sentence, cut.word()));
  if (cut.whole_parts_alone)
    add("scan-whole-groups-" + std::to_string(cut.length),
        "scores are taken " + std::to_string(cut.length) +
            " at a time, and those after the last whole group are left out");
  if (finish != Finish::kRight) add("scan-finish", words_of(finish));
  if (begin != nullptr) add(begin->id, begin->words);
  if (end != nullptr) add(end->id, end->words);
  if (range != nullptr) add(range->id, range->words);
  return cause;
}

// Combinations of so many mistakes: 1 or 2.
std::vector<Guess> guesses(int count, bool weighs, bool of_kernel, bool in_tiles) {
  std::vector<Guess> all;
  for (const Cut& cut : kCuts) {
    if (cut.of_tiles && !in_tiles) continue;
    const std::vector<const ScanMistake*> mistakes = mistakes_of_scores(cut);
    for (const Finish finish : kFinishes) {
      if (finish != Finish::kRight && !weighs) continue;
      const Guess none{.cut = cut, .finish = finish};
      if (none.mistakes() == count) all.push_back(none);
      for (std::size_t a = 0; a < mistakes.size(); ++a) {
        if (none.mistakes() + 1 == count) all.push_back({mistakes[a], nullptr, cut, finish});
        for (std::size_t b = a + 1; b < mistakes.size() && none.mistakes() + 2 == count; ++b)
          all.push_back({mistakes[a], mistakes[b], cut, finish});
      }
    }
  }
  std::stable_partition(all.begin(), all.end(), [](const Guess& guess) { return guess.first == nullptr; });
  if (of_kernel)  // has a thread, or a warp, per row
    std::stable_partition(all.begin(), all.end(), [](const Guess& guess) { return guess.cut.length == 0; });
  return all;
}

// Guesses for a scan alone: a mistake at its beginning or its end, or in the scores that it visits, combined
// with one of the scan itself if there are two.
std::vector<Guess> guesses_of_ends(int count, const std::vector<ScanBegin>& begins) {
  std::vector<Guess> once;
  for (const ScanBegin& begin : std::span(begins).subspan(1)) once.push_back({.begin = &begin});
  for (const ScanEnd& end : scan_ends().subspan(1)) once.push_back({.end = &end});
  for (const SoftmaxCount& range : softmax_counts())
    if (range.is_range) once.push_back({.range = &range});
  if (count == 1) return once;
  std::vector<Guess> all;
  for (std::size_t a = 0; a < once.size(); ++a)
    for (std::size_t b = a + 1; b < once.size(); ++b) {
      Guess both = once[a];
      if (once[b].begin != nullptr) both.begin = once[b].begin;
      if (once[b].end != nullptr) both.end = once[b].end;
      if (once[b].range != nullptr) both.range = once[b].range;
      if (both.mistakes() == 2) all.push_back(both);
    }
  for (const Cut& cut : {Cut{1, false}, Cut{0, false}})
    for (const ScanMistake* mistake : mistakes_of_scores(cut))
      for (Guess guess : once) {
        guess.first = mistake, guess.cut = cut;
        all.push_back(guess);
      }
  return all;
}

// A softmax whose state is not requested.
bool is_weighed(const ScoreScan& row) { return !row.state && row.weights.size() == row.scores.size(); }

// Explains a softmax in three passes by so many mistakes.
std::vector<Cause> causes_of_plain(const std::vector<const ScoreScan*>& rows,
                                   const std::vector<const ScoreScan*>& in_place, int mistakes) {
  std::vector<Cause> causes = causes_of_softmax(rows, in_place, mistakes);
  if (causes.empty() && mistakes == 1) causes = causes_of_float_softmax(rows);
  if (causes.empty() && mistakes == 1) causes = causes_of_dropped_weights(rows);
  return causes;
}

constexpr std::size_t kMost = 12;  // to be compared with those of other checks

}  // namespace

std::vector<Cause> causes_of(const ScanExhibit& x) {
  const auto [rows, in_place] = in_order(x);
  const auto explains = [&](const Guess& guess) {
    const std::optional<ScanTwist> twist = guess.twist();
    return twist &&
           std::ranges::all_of(rows, [&](const ScoreScan* row) { return gives(x, *row, *twist, guess); });
  };
  if (rows.empty()) return {};
  const auto only = [](const std::optional<Cause>& cause) {
    return cause ? std::vector{*cause} : std::vector<Cause>{};
  };
  if (explains({})) return only(cause_of_changed_scores(x));
  const bool exact = x.precision == DType::kFloat64;
  const bool plain = exact && x.normalized && std::ranges::all_of(x.rows, is_weighed);
  const bool scan_alone = exact && std::ranges::all_of(x.rows, [](const ScoreScan& row) {
                            return row.state && row.weights.empty();
                          });
  if (const auto cause = cause_of_epsilon(x)) return {*cause};
  if (plain)
    if (const auto causes = causes_of_plain(rows, in_place, 1); !causes.empty()) return causes;
  if (const auto cause = cause_of_unwritten_weights(rows)) return {*cause};
  if (const auto cause = cause_of_idle_scan(x)) return {*cause};
  const std::vector<ScanBegin> begins = scan_begins(rows);
  const bool weighs = std::ranges::any_of(x.rows, [](const ScoreScan& row) { return !row.weights.empty(); });
  const bool in_tiles = std::ranges::all_of(x.rows, [](const ScoreScan& row) { return row.tile > 0; });
  for (const int count : {1, 2}) {
    std::vector<Cause> causes =
        plain && count == 2 ? causes_of_plain(rows, in_place, 2) : std::vector<Cause>{};
    std::vector<Guess> all = guesses(count, weighs, !exact, in_tiles);
    if (scan_alone) std::ranges::move(guesses_of_ends(count, begins), std::back_inserter(all));
    for (const Guess& guess : all) {
      if (causes.size() == kMost || !explains(guess)) continue;
      const Cause cause = guess.cause();
      if (std::ranges::find(causes, cause.sentence, &Cause::sentence) == causes.end())
        causes.push_back(cause);
    }
    if (scan_alone && causes.empty() && count == 1) causes = only(cause_of_float_scan(rows));
    if (!causes.empty()) return causes;
  }
  return {};
}

}  // namespace ringcraft::verify
