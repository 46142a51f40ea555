// Lesson 102: checks of a safe softmax of one row. They compare the weights with sums in long double; every
// call starts with NaN in the memory that it must write.
#include <cmath>
#include <limits>

#include "exercise.hpp"
#include "judge/checks/block_trial.hpp"
#include "judge/checks/row_trial.hpp"
#include "judge/wire/exercises.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

// The student's softmax of these scores.
struct Softmax {
  std::vector<double> weights;
  bool scores_changed;
};

Softmax softmax(Trial& trial, const std::vector<double>& scores) {
  std::vector<double> weights(scores.size(), verify::unwritten());
  const auto changed =
      trial.call<SafeSoftmax>(std::span<const double>(scores), std::span<double>(weights)).changed;
  return {std::move(weights), changed != 0};
}

void require_weights(const ScoreRow& row, const std::vector<double>& got, DType precision) {
  const ExactSoftmax want = exact_softmax(row.scores);
  require_each("weights", static_cast<Index>(got.size()), [&](Index i) {
    const auto j = static_cast<std::size_t>(i);
    const std::string where =
        row.name + ": weight " + std::to_string(j) + " of score " + text_of(row.scores[j]);
    if (row.scores[j] == kNothing && got[j] != 0)
      throw Wrong(sign_of(got[j]), "masked-weight", "{} is {}, and must be exactly 0", where,
                  digits_of(got[j]));
    require_close(where, got[j], want.weights[j], want.scales[j], precision);
  });
}

// Computes the weights of all rows, which a diagnosis may need, before it reports the first wrong one.
std::vector<std::vector<double>> weighed(Trial& trial, const std::vector<ScoreRow>& rows) {
  std::vector<std::vector<double>> weights;
  verify::ScanExhibit softmaxes;
  for (const ScoreRow& row : rows) {
    Softmax got = softmax(trial, row.scores);
    weights.push_back(got.weights);
    softmaxes.rows.push_back(
        {.scores = row.scores, .weights = std::move(got.weights), .changed = got.scores_changed});
  }
  softmaxes.precision = trial.precision();
  trial.show(exhibit_of(std::move(softmaxes)));
  return weights;
}

void require_rows(Trial& trial, const std::vector<ScoreRow>& rows) {
  const auto weights = weighed(trial, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) require_weights(rows[i], weights[i], trial.precision());
}

// ---- the checks

const Check kOneScore{
    .claim = "A single score has the weight 1, whatever its value.",
    .id = "one-score",
    .weight = 0,
    .hint = "With its own maximum subtracted a single score becomes 0.",
    .run{[](Trial& trial) {
      std::vector<ScoreRow> rows;
      for (const double score : {0.0, 3.5, -2.0, 40.0, -40.0}) rows.push_back({"a single score", {score}});
      require_rows(trial, rows);
    }},
};

const Check kSumsToOne{
    .claim = "The weights of a row add up to 1.",
    .id = "sums-to-one",
    .weight = 0,
    .hint = "Exponentials become weights by one more step: by what are they divided?",
    .run{[](Trial& trial) {
      const std::vector<ScoreRow> rows = ordinary_rows(trial.seed());
      const auto weights = weighed(trial, rows);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        long double sum = 0;
        for (const double weight : weights[i]) sum += weight;
        require_close(rows[i].name + ": the sum of the weights", static_cast<double>(sum), 1, 10);
      }
    }},
};

const Check kOrdinary{
    .claim = "Rows of moderate scores get the weights exp(s) / sum of exp(s).",
    .id = "ordinary",
    .weight = 4,
    .hint = "Take a row of two scores: what should the quotient of the two weights be?",
    .run{[](Trial& trial) { require_rows(trial, ordinary_rows(trial.seed())); }},
};

const Check kHigh{
    .claim = "Scores near 800, 20000 and 100000 do not overflow.",
    .id = "high",
    .weight = 2,
    .needs = {"ordinary"},
    .hint = "From which score on is exp infinite, and what is infinity divided by infinity?",
    .run{[](Trial& trial) { require_rows(trial, high_rows(trial.seed())); }},
};

const Check kLow{
    .claim = "Rows whose every score is near -800, -20000 or -100000 do not vanish.",
    .id = "low",
    .weight = 2,
    .needs = {"ordinary"},
    .hint = "If every score is -800, what is the maximum with which your scan ends?",
    .run{[](Trial& trial) { require_rows(trial, low_rows(trial.seed())); }},
};

const Check kGaps{
    .claim = "Gaps of 800 and more leave the small weights at 0 and the others right.",
    .id = "gaps",
    .weight = 1,
    .needs = {"ordinary"},
    .hint = "Which score do you subtract: the first, the last, or the largest?",
    .run{[](Trial& trial) { require_rows(trial, gap_rows(trial.seed())); }},
};

const Check kPartlySeen{
    .claim = "A score of -inf has the weight exactly 0 and leaves the others right.",
    .id = "partly-seen",
    .weight = 1,
    .needs = {"ordinary"},
    .hint = "exp(-inf) is 0 by itself: do you start the maximum with a score that may be -inf?",
    .run{[](Trial& trial) { require_rows(trial, partly_seen_rows(trial.seed())); }},
};

const Check kNothingSeen{
    .claim = "A row of nothing but -inf has all weights 0, without a NaN.",
    .id = "nothing-seen",
    .weight = 1,
    .needs = {"ordinary"},
    .hint = "What is -inf - (-inf), and what is 0 / 0? Both can be met here.",
    .run{[](Trial& trial) {
      std::vector<ScoreRow> rows;
      for (const std::size_t length : {0, 1, 2, 7})
        rows.push_back({counted(length, "score"), std::vector<double>(length, kNothing)});
      const auto weights = weighed(trial, rows);
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (const double weight : weights[i])
          if (weight != 0)
            throw Wrong(sign::kValues, "weight-of-nothing", "{} of -inf: a weight is {}, and must be 0",
                        Shown{static_cast<double>(rows[i].scores.size()), rows[i].name}, digits_of(weight));
    }},
};

// Scores are multiples of 1/8, so that adding 1024 rounds nothing.
const Check kShifted{
    .claim = "A number that is added to all scores changes no weight.",
    .id = "shifted",
    .weight = 1,
    .needs = {"ordinary"},
    .hint = "A factor in numerator and denominator cancels: is it the same for the sum and for each weight?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      std::vector<ScoreRow> rows;
      for (const double shift : {1024.0, -1024.0, 65536.0}) {
        ScoreRow& row = rows.emplace_back();
        row = {"multiples of 1/8, all moved by " + text_of(shift), {}};
        for (int j = 0; j < 9; ++j)
          row.scores.push_back(static_cast<double>(random.integer(-24, 24)) / 8 + shift);
      }
      require_rows(trial, rows);
    }},
};

const Check kAnyOrder{
    .claim = "Shuffled scores have the same weights, shuffled.",
    .id = "any-order",
    .weight = 1,
    .hint = "Does any weight depend on where in the row its score stands?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      std::vector<ScoreRow> rows;
      for (const ScoreRow& row : gap_rows(trial.seed())) rows.push_back(shuffled(row, random));
      require_rows(trial, rows);
    }},
};

const Check kAnyLength{
    .claim = "Rows of any length get all their weights, to the last score.",
    .id = "any-length",
    .weight = 1,
    .needs = {"ordinary"},
    .hint = "The sum over many scores must be as exact as the scores: in which type do you add?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      std::vector<ScoreRow> rows;
      for (const std::size_t length : {2u, 3u, 5u, 31u, 32u, 33u, 100u, 1000u, 20001u}) {
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
    .hint = "Write to weights alone.",
    .run{[](Trial& trial) {
      const std::vector<ScoreRow> row{{"4 scores", {1, 3, 0, 2}}};
      weighed(trial, row);
      if (softmax(trial, row[0].scores).scores_changed)
        throw Wrong(sign::kInput, "argument-changed",
                    "your function changed the scores, which it may only read");
    }},
};

// The library's dense attention calls safe_softmax with scores and weights in the same memory.
const Check kDrivesDenseAttention{
    .claim = "The library's dense attention, which calls your softmax, equals the oracle.",
    .id = "drives-dense-attention",
    .weight = 2,
    .needs = {"high", "low", "any-length"},
    .hint = "It passes scores and weights in the same memory: which scores do you still need once you write?",
    .run{[](Trial& trial) { require_dense(trial, some_blocks(trial, 0, 8)); }},
};

const Check kFloats{
    .claim = "float as well as double.",
    .id = "floats",
    .weight = 1,
    .needs = {"high", "low", "gaps", "partly-seen", "any-length"},
    .hint =
        "T is float, too: 7 digits, and no exponential of a score above 88. Which line of yours knows that?",
    .precision = DType::kFloat32,
    .run{
        [](Trial& trial) { require_rows(trial, rounded(rows_for_floats(trial.seed()), trial.precision())); }},
};

// ---- for a diagnosis

// Rows whose weights share memory with their scores. The library's dense attention passes them on: with ones
// on the diagonals of k and v, q holds the scores, and out the weights.
void ask_in_place(Trial& trial, verify::ScanExhibit& softmaxes) {
  constexpr Index kScores = 5;
  Random random(trial.seed());
  std::vector<double> scores(kScores * kScores), unit(kScores * kScores, 0.0), out(kScores * kScores),
      lse(kScores);
  for (double& score : scores) score = 1.5 * random.normal();
  for (std::size_t j = 0; j < unit.size(); j += kScores + 1) unit[j] = 1;
  const auto view = [](const auto& numbers) { return Matrix<const double>{numbers, kScores, kScores}; };
  const KeyRanges all{std::vector<int>(kScores, 0), std::vector<int>(kScores, kScores)};
  if (!trial.ask<DenseForward>(view(scores), view(unit), view(unit), all, 1.0,
                               Matrix<double>{out, kScores, kScores}, std::span(lse)))
    return;
  for (std::size_t i = 0; i < scores.size(); i += kScores) {
    const auto row = [&](const std::vector<double>& numbers) {
      return std::vector<double>(numbers.begin() + static_cast<std::ptrdiff_t>(i),
                                 numbers.begin() + static_cast<std::ptrdiff_t>(i) + kScores);
    };
    softmaxes.rows.push_back({.scores = row(scores), .weights = row(out), .shared = true});
  }
}

verify::Exhibit interview(Trial& trial) {
  verify::ScanExhibit softmaxes{.rows = {}, .precision = trial.precision()};
  std::vector<ScoreRow> rows = all_rows(trial.seed());
  for (ScoreRow& row : telling_rows(trial.seed())) rows.push_back(std::move(row));
  for (ScoreRow& row : rounded(std::move(rows), trial.precision())) {
    std::vector<double> weights(row.scores.size(), verify::unwritten());
    if (trial.ask<SafeSoftmax>(std::span<const double>(row.scores), std::span<double>(weights)))
      softmaxes.rows.push_back({.scores = std::move(row.scores), .weights = std::move(weights)});
  }
  if (trial.precision() == DType::kFloat64) ask_in_place(trial, softmaxes);
  return exhibit_of(std::move(softmaxes));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kSumsToOne,
                            kOrdinary,
                            kOneScore,
                            kHigh,
                            kLow,
                            kGaps,
                            kShifted,
                            kAnyOrder,
                            kPartlySeen,
                            kNothingSeen,
                            kAnyLength,
                            kScoresUnchanged,
                            kDrivesDenseAttention,
                            kFloats};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
