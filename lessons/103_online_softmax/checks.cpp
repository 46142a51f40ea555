// Lesson 103: checks of an online scan. They look at a state only through m + log l, as its users do, so any
// running maximum that leaves the same softmax is right. Expected values are sums in long double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "exercise.hpp"
#include "judge/checks/block_trial.hpp"
#include "judge/checks/row_trial.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

using State = SoftmaxState<double>;
using Scores = std::span<const double>;

constexpr double kNothing = -std::numeric_limits<double>::infinity();

// The student's scan.
State scan(Trial& trial, Scores scores, State state = {}) {
  return trial.call<OnlineScan>(scores, state).result;
}

// The state after these scores, from sums in long double.
State state_of(Scores scores) {
  const ExactSoftmax exact = exact_softmax(scores);
  return {static_cast<double>(exact.max), static_cast<double>(exact.sum)};
}

void require_nothing(const std::string& label, State got) {
  const std::string where = label + ": no score has been seen, and ";
  const auto require = [&](const char* name, double number, double want) {
    if (number != want)
      throw Wrong(std::isnan(number) ? sign::kNoNumber : sign::kValues, "state-of-nothing",
                  "{}{} is {} instead of {}", where, Name{name}, digits_of(number), digits_of(want));
  };
  require("m", got.max, kNothing);
  require("l", got.sum, 0);
}

// Throws Wrong unless `got` is the state after these scores.
void require_state(const std::string& label, State got, Scores scores, DType precision = DType::kFloat64) {
  const ExactSoftmax want = exact_softmax(scores);
  if (want.sum == 0) return require_nothing(label, got);
  require_close(label + ": m + log l", got.max + std::log(got.sum), want.lse, want.lse_scale, precision);
  if (got.max != want.max)
    throw Wrong(sign::kValues, "not-the-maximum", "{}: m is {}, and the largest score is {}", label,
                digits_of(got.max), digits_of(static_cast<double>(want.max)));
}

// Scans all rows before it reports the first wrong one.
void require_rows(Trial& trial, const std::vector<ScoreRow>& rows) {
  verify::ScanExhibit scans;
  for (const ScoreRow& row : rows) {
    const State state = scan(trial, row.scores);
    scans.rows.push_back({.scores = row.scores, .state = std::pair{state.max, state.sum}});
  }
  scans.precision = trial.precision();
  trial.show(exhibit_of(scans));
  for (std::size_t i = 0; i < rows.size(); ++i)
    require_state(rows[i].name, {scans.rows[i].state->first, scans.rows[i].state->second}, rows[i].scores,
                  trial.precision());
}

// ---- the checks

const Check kOneScore{
    .claim = "The first score becomes the maximum, with the sum 1.",
    .id = "one-score",
    .weight = 1,
    .hint = "Before the first score m is -inf and l is 0: which rule makes them s and 1?",
    .run{[](Trial& trial) {
      std::vector<ScoreRow> rows;
      const auto add = [&](double score) {
        rows.push_back({"a single score of " + text_of(score), {score}});
      };
      for (const double score : {0.0, 2.5, -3.0, 40.0, -40.0}) add(score);
      Random random(trial.seed());
      for (int times = 0; times < 3; ++times) add(3 * random.normal());
      require_rows(trial, rows);
    }},
};

// Some scores in this order, other ones for each seed.
ScoreRow sorted_row(const Trial& trial, const std::string& name, bool rising) {
  Random random(trial.seed());
  ScoreRow row{name, {}};
  for (int j = 0; j < 6; ++j) row.scores.push_back(2 * random.normal());
  std::ranges::sort(row.scores);
  if (!rising) std::ranges::reverse(row.scores);
  return row;
}

const Check kFalling{
    .claim = "Scores below the maximum only add to the sum.",
    .id = "falling",
    .weight = 1,
    .hint = "A score at or below m leaves m alone and adds exp(s - m) to l.",
    .run{[](Trial& trial) {
      require_rows(trial, {{"scores 5, 4, 2, 1, 0.5", {5, 4, 2, 1, 0.5}},
                           {"the same score four times", {2, 2, 2, 2}},
                           sorted_row(trial, "6 falling scores", false)});
    }},
};

const Check kRising{
    .claim = "When the maximum grows, the sum so far is rescaled.",
    .id = "rising",
    .weight = 3,
    .needs = {"one-score"},
    .hint =
        "Old terms were divided by exp(old maximum): in which currency is l now, and by what must it be "
        "multiplied?",
    .run{[](Trial& trial) {
      require_rows(trial, {{"scores 1, 3", {1, 3}},
                           {"scores 0.5, 1, 2, 4, 5", {0.5, 1, 2, 4, 5}},
                           {"scores -9, -6, -2", {-9, -6, -2}},
                           sorted_row(trial, "6 rising scores", true)});
    }},
};

const Check kOrdinary{
    .claim = "Moderate scores in any order give the m and l of all of them.",
    .id = "ordinary",
    .weight = 1,
    .needs = {"rising", "falling"},
    .hint = "Print m and l after each score of a row of three, and compare with pencil and paper.",
    .run{[](Trial& trial) { require_rows(trial, ordinary_rows(trial.seed())); }},
};

const Check kHigh{
    .claim = "Scores near 800, 20000 and 100000 do not overflow.",
    .id = "high",
    .weight = 1,
    .needs = {"ordinary"},
    .hint = "Can any of the exponents that you use be positive?",
    .run{[](Trial& trial) { require_rows(trial, high_rows(trial.seed())); }},
};

const Check kLow{
    .claim = "Rows whose every score is near -800, -20000 or -100000 do not vanish.",
    .id = "low",
    .weight = 1,
    .needs = {"ordinary"},
    .hint = "Which start value is smaller than every score?",
    .run{[](Trial& trial) { require_rows(trial, low_rows(trial.seed())); }},
};

const Check kGaps{
    .claim = "Gaps of 800 and more, upwards and downwards, leave m and l right.",
    .id = "gaps",
    .weight = 1,
    .needs = {"ordinary"},
    .hint = "Moving to a larger maximum: must old terms become smaller or larger?",
    .run{[](Trial& trial) { require_rows(trial, gap_rows(trial.seed())); }},
};

const Check kPartlySeen{
    .claim = "A score of -inf adds nothing.",
    .id = "partly-seen",
    .weight = 1,
    .needs = {"ordinary"},
    .hint = "If the first score is -inf, what does your code subtract from it?",
    .run{[](Trial& trial) { require_rows(trial, partly_seen_rows(trial.seed())); }},
};

const Check kNothingSeen{
    .claim = "No score, or nothing but -inf, leaves the state as it was.",
    .id = "nothing-seen",
    .weight = 0,
    .hint = "What is -inf - (-inf), and which number could be subtracted while m is still -inf?",
    .run{[](Trial& trial) {
      const std::vector<double> unseen(5, kNothing);
      require_nothing("no score at all", scan(trial, {}));
      require_nothing("five scores of -inf", scan(trial, unseen));
      const std::vector<double> seen{1, 3, 0, 2};
      require_state("five scores of -inf after 1, 3, 0, 2", scan(trial, unseen, state_of(seen)), seen);
      require_state("no score after 1, 3, 0, 2", scan(trial, {}, state_of(seen)), seen);
    }},
};

// The first part is the judge's, the rest the student's, for every cut of every row.
const Check kContinues{
    .claim = "A scan that starts from a state includes the scores that the state has seen.",
    .id = "continues",
    .weight = 2,
    .needs = {"ordinary"},
    .hint = "Do you start from state.max and state.sum, or from the empty state?",
    .run{[](Trial& trial) {
      verify::MergeExhibit merges{0, 0, {}, {}, {}};
      const auto add = [](verify::PartialNumbers& to, State state) {
        to.max.push_back(state.max);
        to.sum.push_back(state.sum);
      };
      const std::vector<ScoreRow> rows = all_rows(trial.seed());
      for (const ScoreRow& row : rows)
        for (std::size_t cut = 0; cut <= row.scores.size(); cut += 1 + row.scores.size() / 8) {
          const Scores all(row.scores), rest = all.subspan(cut);
          const State before = state_of(all.first(cut)), after = scan(trial, rest, before);
          ++merges.rows;
          add(merges.acc, before);
          add(merges.block, state_of(rest));
          add(merges.result, after);
        }
      exhibiting([&] { return std::move(merges); },
                 [&, state = std::size_t{0}]() mutable {
                   for (const ScoreRow& row : rows)
                     for (std::size_t cut = 0; cut <= row.scores.size();
                          cut += 1 + row.scores.size() / 8, ++state)
                       require_state(row.name + ", continued after the first " + std::to_string(cut),
                                     {merges.result.max[state], merges.result.sum[state]}, row.scores);
                 });
    }},
};

// A row in pieces of 3, 1 and 0 scores, each piece continuing from the last state.
const Check kInPieces{
    .claim = "A row cut into pieces, one scan after another, ends in the same state.",
    .id = "in-pieces",
    .weight = 1,
    .hint = "The next scan starts from the state that you return: do its m and l still belong together?",
    .run{[](Trial& trial) {
      for (const ScoreRow& row : all_rows(trial.seed())) {
        Scores left(row.scores);
        State state;
        std::string pieces;
        for (int piece = 0; !left.empty(); ++piece) {
          const std::size_t take = std::min<std::size_t>(left.size(), piece % 3 == 0   ? 3
                                                                      : piece % 3 == 1 ? 1
                                                                                       : 0);
          if (piece < 4)
            pieces += (pieces.empty() ? ""
                       : piece < 3    ? ", "
                                      : ", ...") +
                      (piece < 3 ? std::to_string(take) : "");
          state = scan(trial, left.first(take), state);
          left = left.subspan(take);
        }
        require_state(row.name + ", in pieces of " + pieces, state, row.scores);
      }
    }},
};

const Check kAnyOrder{
    .claim = "Shuffled scores end in the same state, beyond rounding.",
    .id = "any-order",
    .weight = 1,
    .hint = "Is the sum rescaled at every score that raises the maximum, or only sometimes?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      std::vector<ScoreRow> rows;
      for (const ScoreRow& row : all_rows(trial.seed()))
        for (int times = 0; times < 2; ++times) rows.push_back(shuffled(row, random));
      require_rows(trial, rows);
    }},
};

const Check kAnyLength{
    .claim = "Rows of any length are scanned to the last score.",
    .id = "any-length",
    .weight = 1,
    .needs = {"ordinary"},
    .hint = "The sum over many scores must be as exact as the scores: in which type do you add?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      std::vector<ScoreRow> rows;
      for (const std::size_t length : {2u, 31u, 32u, 33u, 100u, 1000u, 20001u}) {
        rows.push_back({counted(length, "score"), {}});
        for (std::size_t j = 0; j < length; ++j) rows.back().scores.push_back(random.normal());
      }
      require_rows(trial, rows);
    }},
};

const Check kScoresUnchanged{
    .claim = "The scores are only read.",
    .id = "scores-unchanged",
    .weight = 1,
    .needs = {"ordinary"},
    .hint = "Keep m and l in variables of your own.",
    .run{[](Trial& trial) {
      const std::vector<double> scores{1, 3, 0, 2};
      const auto [state, changed] = trial.call<OnlineScan>(Scores(scores), State{});
      trial.show(exhibit_of(verify::ScanExhibit{
          {{.scores = scores, .state = std::pair{state.max, state.sum}, .changed = (changed & 1) != 0}}}));
      if ((changed & 1) != 0)
        throw Wrong(sign::kInput, "argument-changed",
                    "your function changed the scores, which it may only read");
    }},
};

const Check kFloats{
    .claim = "float as well as double.",
    .id = "floats",
    .weight = 1,
    .needs = {"high", "low", "gaps", "partly-seen", "nothing-seen", "continues", "any-length"},
    .hint =
        "T is float, too: 7 digits, and no exponential of a score above 88. Which line of yours knows that?",
    .precision = DType::kFloat32,
    .run{[](Trial& trial) {
      const std::vector<ScoreRow> rows = rounded(rows_for_floats(trial.seed()), trial.precision());
      require_rows(trial, rows);
      for (const ScoreRow& row : rows) {
        const Scores all(row.scores), seen = all.first(all.size() / 2);
        require_state(row.name + ", continued after the first " + std::to_string(seen.size()),
                      scan(trial, all.subspan(seen.size()), state_of(seen)), all, trial.precision());
      }
    }},
};

// The library's dense attention takes its lse from online_scan.
const Check kDrivesDenseAttention{
    .claim = "The library's dense attention, with the lse of your scan, equals the oracle.",
    .id = "drives-dense-attention",
    .weight = 2,
    .needs = {"gaps", "nothing-seen"},
    .hint = "lse is m + log l: which of its rows have seen no key at all?",
    .run{[](Trial& trial) { require_dense(trial, some_blocks(trial, 0, 8)); }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  verify::ScanExhibit scans{.rows = {}, .precision = trial.precision()};
  const auto ask = [&](const std::vector<double>& scores, State before) {
    if (const auto state = trial.ask<OnlineScan>(Scores(scores), before))
      scans.rows.push_back({.scores = scores,
                            .max_before = before.max,
                            .sum_before = before.sum,
                            .state = std::pair{state->max, state->sum}});
  };
  std::vector<ScoreRow> rows = all_rows(trial.seed());
  for (ScoreRow& row : telling_rows(trial.seed())) rows.push_back(std::move(row));
  for (const ScoreRow& row : rounded(std::move(rows), trial.precision())) ask(row.scores, {});
  // Below, among and above the scores seen before.
  for (const ScoreRow& row : rounded(ordinary_rows(trial.seed() + 1), trial.precision()))
    for (const double max : {-3.0, 0.25, 4.0}) ask(row.scores, {max, 1.75});
  for (const std::size_t unseen : {0, 3}) {
    ask(std::vector<double>(unseen, kNothing), {});
    ask(std::vector<double>(unseen, kNothing), {0.5, 2.25});
  }
  return exhibit_of(std::move(scans));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneScore, kFalling,  kRising,     kOrdinary,        kHigh,
                            kLow,      kGaps,     kPartlySeen, kNothingSeen,     kContinues,
                            kInPieces, kAnyOrder, kAnyLength,  kScoresUnchanged, kDrivesDenseAttention,
                            kFloats};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
