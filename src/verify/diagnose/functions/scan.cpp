// A wrong scan of scores, or a wrong softmax (see diagnose.hpp): what a scan with a mistake leaves is
// computed for every row that was asked, in parts of several lengths, and compared with what came back.
#include "verify/diagnose/twisted/scan.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/agree.hpp"
#include "verify/diagnose/functions/softmax/softmax_law.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

using Parts = std::vector<std::vector<ScanKey>>;

// In which parts a scan takes its scores.
struct Cut {
  std::size_t length;      // 0: all at once
  bool whole_parts_alone;  // the last part is left out if it is shorter

  std::string word() const { return length == 0 ? "row" : length == 1 ? "score" : "group"; }
};
constexpr Cut kCuts[] = {{1, false}, {0, false}, {2, false}, {4, false}, {8, false},
                         {2, true},  {4, true},  {8, true},  {16, true}};

Parts parts_of(const ScoreScan& row, const Cut& cut) {
  Parts parts;
  const std::size_t length = cut.length == 0 ? std::max<std::size_t>(row.scores.size(), 1) : cut.length;
  for (std::size_t j = 0; j < row.scores.size(); ++j) {
    if (j % length == 0) parts.emplace_back();
    parts.back().push_back({row.scores[j], row.scores[j] != -HUGE_VAL, {}});
  }
  if (cut.whole_parts_alone && !parts.empty() && parts.back().size() < length) parts.pop_back();
  return parts;
}

bool near(const ScanExhibit& x, double got, double want) {
  const bool exact = x.precision == DType::kFloat64;
  return is_unwritten(got) == is_unwritten(want) &&
         agree_or_nan(got, want, exact ? 1e-10 : 1e-4, exact ? 0 : 1e-3);
}

// What becomes of the weights in the end.
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

bool gives(const ScanExhibit& x, const ScoreScan& row, const ScanTwist& twist, const Cut& cut,
           Finish finish) {
  const ScanState state = scanned(twist, parts_of(row, cut), {{}, row.max_before, row.sum_before}, {});
  if (row.state && !(near(x, row.state->first, state.max) && near(x, row.state->second, state.sum)))
    return false;
  const Finish last = x.normalized || finish != Finish::kRight ? finish : Finish::kNotDivided;
  const bool nothing_left = state.sum == 0 && state.max != -HUGE_VAL;  // 0 / 0, or 0 by a guard
  for (std::size_t j = 0; j < row.weights.size(); ++j)
    if (!(nothing_left && row.weights[j] == 0) &&
        !near(x, row.weights[j], weight_of(last, state, row.scores.size(), row.scores[j])))
      return false;
  return true;
}

// What a right scan gives tells least, and short rows are cheap. Where weights overwrite scores, any mistake
// may have consequences of its own: such rows count only if all others are right.
std::vector<const ScoreScan*> in_order(const ScanExhibit& x) {
  std::vector<std::pair<std::pair<bool, std::size_t>, const ScoreScan*>> rows;
  for (const ScoreScan& row : x.rows)
    rows.push_back({{gives(x, row, {}, {0, false}, Finish::kRight), row.scores.size()}, &row});
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.first; });
  const bool apart =
      std::ranges::any_of(rows, [](const auto& row) { return !row.first.first && !row.second->shared; });
  std::vector<const ScoreScan*> all;
  for (const auto& row : rows)
    if (!apart || !row.second->shared) all.push_back(row.second);
  return all;
}

// A twist without what is about O, which a scan of scores alone does not have.
ScanTwist without_out(ScanTwist twist) {
  twist.out_factor = {}, twist.out_weight = {}, twist.out_when = {}, twist.divisor = {};
  return twist;
}

// Each mistake once. Where keys come one by one, a branch that does too little is more usual than a factor.
std::vector<const ScanMistake*> mistakes_of_scores(const Cut& cut) {
  std::vector<const ScanMistake*> all;
  for (const ScanMistake& each : scan_mistakes()) {
    const ScanTwist rest = without_out(each.twist);
    const bool twin = rest != each.twist &&
                      std::ranges::find(scan_mistakes(), rest, &ScanMistake::twist) != scan_mistakes().end();
    const bool about_keys = cut.length == 1 && each.twist.keys != ScanTwist::Keys::kAll &&
                            each.twist.keys != ScanTwist::Keys::kTiesLost;
    const bool about_hidden =
        (each.twist.hidden != ScanTwist::Hidden::kNothing && each.twist.hidden != ScanTwist::Hidden::kEnds) ||
        each.twist.max == ScanTwist::Max::kOfHidden;
    if (rest != ScanTwist{} && !twin && !about_keys && !about_hidden) all.push_back(&each);
  }
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

// One explanation: mistakes of the scan, and of its end.
struct Guess {
  const ScanMistake* first = nullptr;
  const ScanMistake* second = nullptr;
  Cut cut{};
  Finish finish = Finish::kRight;

  // How many things are wrong.
  int mistakes() const {
    return (first != nullptr) + (second != nullptr) + (cut.whole_parts_alone ? 1 : 0) +
           (finish != Finish::kRight ? 1 : 0);
  }
  std::optional<ScanTwist> twist() const {
    if (first == nullptr) return ScanTwist{};
    return second == nullptr ? std::optional(first->twist) : both(first->twist, second->twist);
  }
  Cause cause() const {
    std::vector<std::string> all;
    for (const ScanMistake* each : {first, second})
      if (each != nullptr) all.push_back(with_part(each->sentence, cut.word()));
    if (cut.whole_parts_alone)
      all.push_back("scores are taken " + std::to_string(cut.length) +
                    " at a time, and those after the last whole group are left out");
    if (finish != Finish::kRight) all.push_back(words_of(finish));
    std::string sentence = all.front();
    for (std::size_t i = 1; i < all.size(); ++i) sentence += "; and " + all[i];
    const std::string id = first != nullptr        ? first->id
                           : cut.whole_parts_alone ? "scan-whole-groups-" + std::to_string(cut.length)
                                                   : "scan-finish";
    return {id, sentence,
            first != nullptr ? with_part(first->question, cut.word())
                             : "Follow your code through a row of 3 scores, with pencil and paper: which "
                               "number is the first wrong one?"};
  }
};

// So many things wrong at once: 1 or 2.
std::vector<Guess> guesses(int count, bool weighs, bool of_kernel) {
  std::vector<Guess> all;
  for (const Cut& cut : kCuts) {
    const std::vector<const ScanMistake*> mistakes = mistakes_of_scores(cut);
    for (const Finish finish : kFinishes) {
      if (finish != Finish::kRight && !weighs) continue;
      const Guess none{nullptr, nullptr, cut, finish};
      if (none.mistakes() == count) all.push_back(none);
      for (std::size_t a = 0; a < mistakes.size(); ++a) {
        if (none.mistakes() + 1 == count) all.push_back({mistakes[a], nullptr, cut, finish});
        for (std::size_t b = a + 1; b < mistakes.size() && none.mistakes() + 2 == count; ++b)
          all.push_back({mistakes[a], mistakes[b], cut, finish});
      }
    }
  }
  std::stable_partition(all.begin(), all.end(), [](const Guess& guess) { return guess.first == nullptr; });
  if (of_kernel)  // has a thread, or a warp, for each row
    std::stable_partition(all.begin(), all.end(), [](const Guess& guess) { return guess.cut.length == 0; });
  return all;
}

// The weights may be divided by l + epsilon: epsilon is the same for all rows.
std::optional<Cause> cause_of_epsilon(const ScanExhibit& x) {
  std::vector<double> found;
  for (const ScoreScan& row : x.rows) {
    if (row.weights.size() != row.scores.size()) return {};
    const ScanState right = scanned({}, parts_of(row, {0, false}), {{}, row.max_before, row.sum_before}, {});
    for (std::size_t j = 0; j < row.weights.size(); ++j) {
      const double want = weight_of(Finish::kRight, right, row.scores.size(), row.scores[j]);
      if (want > 1e-6) found.push_back(right.sum * (want / row.weights[j] - 1));
      if (want == 0 && row.weights[j] != 0) return {};
    }
  }
  if (found.empty()) return {};
  const auto [low, high] = std::ranges::minmax(found);
  if (!(low > 1e-13) || !(high < 0.5) || high - low > 1e-3 * high + 1e-13) return {};
  return Cause{"scan-epsilon", "the weights are divided by l + " + short_number(high) + " instead of l",
               "Can l be 0 where a score is seen? The largest score alone adds 1 to it."};
}

// Weights that are never written: which of a row's.
std::optional<Cause> cause_of_unwritten(const std::vector<const ScoreScan*>& rows) {
  using Holds = bool (*)(std::size_t at, const ScoreScan& row);
  constexpr std::pair<const char*, Holds> kLaws[] = {
      {"the first weight of a row is", [](std::size_t at, const ScoreScan&) { return at == 0; }},
      {"the last weight of a row is",
       [](std::size_t at, const ScoreScan& row) { return at + 1 == row.weights.size(); }},
      {"all weights of a row but the first are", [](std::size_t at, const ScoreScan&) { return at > 0; }},
      {"all weights of a row but the last are",
       [](std::size_t at, const ScoreScan& row) { return at + 1 < row.weights.size(); }},
      {"the weights of hidden scores are",
       [](std::size_t at, const ScoreScan& row) { return row.scores[at] == -HUGE_VAL; }},
      {"the weights are", [](std::size_t, const ScoreScan&) { return true; }}};
  bool any = false;
  for (const ScoreScan* row : rows) any = any || std::ranges::any_of(row->weights, is_unwritten);
  if (!any) return {};
  for (const auto& [words, holds] : kLaws)
    if (std::ranges::all_of(rows, [&, holds = holds](const ScoreScan* row) {
          for (std::size_t j = 0; j < row->weights.size(); ++j)
            if (is_unwritten(row->weights[j]) != holds(j, *row)) return false;
          return true;
        }))
      return Cause{"scan-unwritten", std::string(words) + " never written",
                   "From which score to which do your loops run?"};
  return {};
}

// A scan that leaves m, l and the scores as they were.
bool is_idle(const ScoreScan& row) {
  return row.state && row.state->first == row.max_before && row.state->second == row.sum_before &&
         (row.weights.empty() || row.weights == row.scores);
}

// A softmax alone, whose state is not asked for.
bool is_weighed(const ScoreScan& row) { return !row.state && row.weights.size() == row.scores.size(); }

// In three passes, with so many mistakes.
std::vector<Cause> causes_of_plain(const std::vector<const ScoreScan*>& rows, int mistakes) {
  std::vector<Cause> causes = causes_of_softmax(rows, mistakes);
  return causes.empty() && mistakes == 1 ? causes_of_float_softmax(rows) : causes;
}

std::vector<Cause> cause_of_changed(const ScanExhibit& x) {
  if (std::ranges::none_of(x.rows, &ScoreScan::changed)) return {};
  return {{"scan-writes-scores", "the scores, which belong to the caller, are written",
           "Whose memory is it that you write to?"}};
}

constexpr std::size_t kMost = 12;  // to be compared with those of other checks

}  // namespace

std::vector<Cause> causes_of(const ScanExhibit& x) {
  const std::vector<const ScoreScan*> rows = in_order(x);
  const auto explains = [&](const Guess& guess) {
    const std::optional<ScanTwist> twist = guess.twist();
    return twist && std::ranges::all_of(rows, [&](const ScoreScan* row) {
             return gives(x, *row, *twist, guess.cut, guess.finish);
           });
  };
  if (rows.empty()) return {};
  if (explains({})) return cause_of_changed(x);
  const bool plain =
      x.precision == DType::kFloat64 && x.normalized && std::ranges::all_of(x.rows, is_weighed);
  if (const auto cause = cause_of_epsilon(x)) return {*cause};
  if (plain)
    if (const auto causes = causes_of_plain(rows, 1); !causes.empty()) return causes;
  if (const auto cause = cause_of_unwritten(rows)) return {*cause};
  if (std::ranges::all_of(x.rows, is_idle))
    return {{"scan-idle", "m and l stay as they were before: the scan never runs, or its result goes nowhere",
             "Is it called (or launched) at all, and where does it write?"}};
  const bool weighs = std::ranges::any_of(x.rows, [](const ScoreScan& row) { return !row.weights.empty(); });
  for (const int count : {1, 2}) {
    std::vector<Cause> causes = plain && count == 2 ? causes_of_plain(rows, 2) : std::vector<Cause>{};
    for (const Guess& guess : guesses(count, weighs, x.precision != DType::kFloat64)) {
      if (causes.size() == kMost || !explains(guess)) continue;
      const Cause cause = guess.cause();
      if (std::ranges::find(causes, cause.sentence, &Cause::sentence) == causes.end())
        causes.push_back(cause);
    }
    if (!causes.empty()) return causes;
  }
  return {};
}

}  // namespace ringcraft::verify
