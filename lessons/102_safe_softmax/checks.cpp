// Lesson 102: what a safe softmax of one row must do. Weights are compared with sums in long double; every
// call finds NaN where it has to write.
#include <cmath>
#include <limits>

#include "judge/checks/block_trial.hpp"
#include "judge/checks/row_trial.hpp"
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
  std::vector<double> weights(scores.size(), std::nan(""));
  const auto changed =
      trial.call<SafeSoftmax>(std::span<const double>(scores), std::span<double>(weights)).changed;
  return {std::move(weights), changed != 0};
}

void require_row(Trial& trial, const ScoreRow& row) {
  const std::vector<double> got = softmax(trial, row.scores).weights;
  const ExactSoftmax want = exact_softmax(row.scores);
  require_each("weights", static_cast<Index>(got.size()), [&](Index i) {
    const auto j = static_cast<std::size_t>(i);
    const std::string where =
        row.name + ": weight " + std::to_string(j) + " of score " + text_of(row.scores[j]);
    if (row.scores[j] == kNothing && got[j] != 0)
      throw Wrong(std::isfinite(got[j]) ? sign::kValues : sign::kNoNumber,
                  where + " is " + text_of(got[j]) + ", and must be exactly 0");
    require_close(where, got[j], want.weights[j], want.scales[j]);
  });
}

void require_rows(Trial& trial, const std::vector<ScoreRow>& rows) {
  for (const ScoreRow& row : rows) require_row(trial, row);
}

// ---- the checks

void one_score(Trial& trial) {
  for (const double score : {0.0, 3.5, -2.0, 40.0, -40.0}) require_row(trial, {"a single score", {score}});
}

void sums_to_one(Trial& trial) {
  for (const ScoreRow& row : ordinary_rows(trial.seed())) {
    long double sum = 0;
    for (const double weight : softmax(trial, row.scores).weights) sum += weight;
    require_close(row.name + ": the sum of the weights", static_cast<double>(sum), 1, 10);
  }
}

void ordinary(Trial& trial) { require_rows(trial, ordinary_rows(trial.seed())); }
void high(Trial& trial) { require_rows(trial, high_rows(trial.seed())); }
void low(Trial& trial) { require_rows(trial, low_rows(trial.seed())); }
void gaps(Trial& trial) { require_rows(trial, gap_rows(trial.seed())); }
void partly_seen(Trial& trial) { require_rows(trial, partly_seen_rows(trial.seed())); }

void nothing_seen(Trial& trial) {
  for (const std::size_t length : {0, 1, 2, 7})
    for (const double weight : softmax(trial, std::vector<double>(length, kNothing)).weights)
      if (weight != 0)
        throw Wrong(counted(length, "score") + " of -inf: a weight is " + text_of(weight) +
                    ", and must be 0");
}

// Scores are multiples of 1/8, so that adding 1024 rounds nothing.
void shifted(Trial& trial) {
  Random random(trial.seed());
  for (const double shift : {1024.0, -1024.0, 65536.0}) {
    ScoreRow row{"multiples of 1/8, all moved by " + text_of(shift), {}};
    for (int j = 0; j < 9; ++j)
      row.scores.push_back(static_cast<double>(random.integer(-24, 24)) / 8 + shift);
    require_row(trial, row);
  }
}

void any_order(Trial& trial) {
  Random random(trial.seed());
  for (const ScoreRow& row : gap_rows(trial.seed())) require_row(trial, shuffled(row, random));
}

void any_length(Trial& trial) {
  Random random(trial.seed());
  for (const std::size_t length : {2u, 3u, 5u, 31u, 32u, 33u, 100u, 1000u, 20001u}) {
    ScoreRow row{counted(length, "score"), {}};
    for (std::size_t j = 0; j < length; ++j) row.scores.push_back(random.normal());
    require_row(trial, row);
  }
}

void scores_unchanged(Trial& trial) {
  if (softmax(trial, {1, 3, 0, 2}).scores_changed)
    throw Wrong(sign::kInput, "your function changed the scores, which it may only read");
}

// The library's dense attention calls safe_softmax with scores and weights in the same memory.
void drives_dense_attention(Trial& trial) { require_dense(trial, some_blocks(trial, 0, 8)); }

}  // namespace

Lesson lesson_102() {
  return {.number = 102,
          .name = "102_safe_softmax",
          .title = "Safe softmax",
          .source = "src/ringcraft/attention/safe_softmax.cpp",
          .function = "safe_softmax",
          .allowed = {},
          .checks = {
              {"sums-to-one",
               0,
               {},
               "The weights of a row add up to 1.",
               "Exponentials become weights by one more step: by what are they divided?",
               sums_to_one},
              {"ordinary",
               4,
               {},
               "Rows of kind scores get the weights exp(s) / sum of exp(s).",
               "Take a row of two scores: what should the quotient of the two weights be?",
               ordinary},
              {"one-score",
               0,
               {},
               "A single score has the weight 1, whatever it is.",
               "With its own maximum subtracted a single score becomes 0.",
               one_score},
              {"high",
               2,
               {"ordinary"},
               "Scores near 800, 20000 and 100000 do not overflow.",
               "From which score on is exp infinite, and what is infinity divided by infinity?",
               high},
              {"low",
               2,
               {"ordinary"},
               "Rows whose every score is near -800, -20000 or -100000 do not vanish.",
               "If every score is -800, what is the maximum with which your scan ends?",
               low},
              {"gaps",
               1,
               {"ordinary"},
               "Gaps of 800 and more leave the small weights at 0 and the others right.",
               "Which score do you subtract: the first, the last, or the largest?",
               gaps},
              {"shifted",
               1,
               {"ordinary"},
               "A number that is added to all scores changes no weight.",
               "A factor above and below the line cancels: is it the same factor for the sum and for each "
               "weight?",
               shifted},
              {"any-order",
               1,
               {},
               "Shuffled scores have the same weights, shuffled.",
               "Does any weight depend on where in the row its score stands?",
               any_order},
              {"partly-seen",
               1,
               {"ordinary"},
               "A score of -inf has the weight exactly 0 and leaves the others right.",
               "exp(-inf) is 0 by itself: do you start the maximum with a score that may be -inf?",
               partly_seen},
              {"nothing-seen",
               1,
               {"ordinary"},
               "A row of nothing but -inf has all weights 0, without a NaN.",
               "What is -inf - (-inf), and what is 0 / 0? Both can be met here.",
               nothing_seen},
              {"any-length",
               1,
               {"ordinary"},
               "Rows of any length are weighed to the last score.",
               "The sum over many scores must be as exact as the scores: in which type do you add?",
               any_length},
              {"scores-unchanged",
               1,
               {"ordinary"},
               "The scores are only read.",
               "Write to weights alone.",
               scores_unchanged},
              {"drives-dense-attention",
               2,
               {"high", "low", "any-length"},
               "The library's dense attention, with your softmax in it, equals the oracle.",
               "It hands you scores and weights in the same memory: which scores do you still need once you "
               "write?",
               drives_dense_attention},
          }};
}

}  // namespace ringcraft::judge
