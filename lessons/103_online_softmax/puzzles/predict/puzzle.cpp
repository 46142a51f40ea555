// Predict 103: the state (m, l) of online softmax on six scores, block by block, with a pencil. The seed
// chooses the scores; the library computes every answer when it is needed.
#include <algorithm>
#include <cmath>
#include <span>

#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::judge {
namespace {

constexpr std::size_t kScores = 6, kBlocks = 3;
using Scores = std::vector<double>;
using State = SoftmaxState<double>;

std::span<const double> block(const Scores& scores, std::size_t number) {
  return std::span(scores).subspan(2 * number, 2);
}

// The states after the blocks 0 to 2.
std::vector<State> states_of(const Scores& scores) {
  std::vector<State> states;
  State state;
  for (std::size_t i = 0; i < kBlocks; ++i)
    states.push_back(state = online_scan<double>(block(scores, i), state));
  return states;
}

// Whole numbers, such that the maximum grows in one of the two later blocks and not in the other.
Scores scores_of(std::uint64_t seed) {
  Random random(seed);
  for (;;) {
    Scores scores(kScores);
    for (double& score : scores) score = static_cast<double>(random.integer(-1, 4));
    const std::vector<State> states = states_of(scores);
    const bool second = states[1].max > states[0].max, third = states[2].max > states[1].max;
    const bool distinct = scores[0] != scores[1] && scores[2] != scores[3] && scores[4] != scores[5];
    if (distinct && second != third) return scores;
  }
}

Blank three_digits(double want) { return {want, std::max(5e-4, 5e-3 * std::abs(want))}; }

std::string joined(std::span<const double> numbers) {
  std::string text;
  for (const double number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(static_cast<int>(number));
  return text;
}

std::string exponentials() {
  std::string text;
  for (int i = 1; i <= 5; ++i) {
    const long rounded = std::lround(1e5 * std::exp(-i));
    const std::string digits = std::to_string(rounded);
    text += (text.empty() ? "" : ", ") + std::string("exp(-") + std::to_string(i) + ") = 0." +
            std::string(5 - digits.size(), '0') + digits;
  }
  return text;
}

std::vector<PuzzleRow> rows() {
  return {{"alone",
           1,
           {},
           "Each block by itself.",
           "m is the larger of the two scores; of the two exponentials one is exp(0).",
           {}},
          {"factors",
           2,
           {},
           "The factor of the old sum.",
           "The old terms were divided by exp(old m): by which number do they have to be multiplied now?",
           {}},
          {"states",
           3,
           {},
           "The state after every block.",
           "Bring the old sum to the new maximum first, then add the new terms; is l ever smaller than 1?",
           {}},
          {"weights",
           2,
           {},
           "The weights and lse at the end.",
           "A weight is exp(score - m) / l with the last m and the last l; all six of them add up to 1.",
           {}}};
}

Form form(std::uint64_t seed) {
  const Scores scores = scores_of(seed);
  const std::vector<State> states = states_of(scores);
  Sheet sheet;
  sheet.say("103.predict: replace each ___ by a number and leave all other words as they are; three digits");
  sheet.say("are enough. Comments after a # are yours. Then: ./ringcraft check 103.predict");
  sheet.fixed("seed " + std::to_string(seed));
  sheet.gap();
  sheet.say("A row of six scores in three blocks: " + joined(block(scores, 0)) + " | " +
            joined(block(scores, 1)) + " | " + joined(block(scores, 2)));
  sheet.say(exponentials());
  sheet.gap();
  sheet.say("Each block by itself: its maximum m, and the sum l of exp(score - m).");
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const State alone = online_scan<double>(block(scores, i));
    sheet.line("alone", "block " + std::to_string(i) + " alone: m ___ l ___",
               {{alone.max}, three_digits(alone.sum)});
  }
  sheet.gap();
  sheet.say(
      "One scan: by which factor is the old l multiplied when the block comes, and what is the state "
      "after it?");
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::string number = std::to_string(i);
    if (i > 0)
      sheet.line("factors", "block " + number + " comes: old l times ___",
                 {three_digits(std::exp(states[i - 1].max - states[i].max))});
    sheet.line("states", "after block " + number + ": m ___ l ___",
               {{states[i].max}, three_digits(states[i].sum)});
  }
  const State& last = states.back();
  const auto weight = [&](double score) { return three_digits(std::exp(score - last.max) / last.sum); };
  sheet.gap();
  sheet.say("At the end: the weights of the first and of the last score, and lse = m + log(l).");
  sheet.line("weights", "weight of the first ___ of the last ___",
             {weight(scores.front()), weight(scores.back())});
  sheet.line("weights", "lse ___", {three_digits(last.max + std::log(last.sum))});
  return {sheet.lines(), rows()};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return prediction(RINGCRAFT_PUZZLE, "Six scores, three blocks",
                    "fill in the states by hand; exp(-1) to exp(-5) are given", form);
}

}  // namespace ringcraft::judge
