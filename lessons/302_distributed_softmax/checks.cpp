// Lesson 302: checks of a softmax over ranks. The expected values are sums over the whole row in long double;
// the judge itself counts the messages and how often the ranks wait for each other. The checks look at a
// state only through m + log l, so any running maximum that leaves the same softmax is right.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/checks/ring_trial.hpp"
#include "judge/checks/row_trial.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::judge {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

using State = SoftmaxState<double>;

// One rank's columns of some rows.
struct Shard {
  Index rows, cols;
  std::vector<double> scores;  // [rows, cols]

  double& score(Index i, Index j) { return scores[static_cast<std::size_t>(i * cols + j)]; }
  double score(Index i, Index j) const { return scores[static_cast<std::size_t>(i * cols + j)]; }
};
using Dealt = std::vector<Shard>;  // per rank

// The same scores as float holds them.
Dealt in_floats(Dealt dealt) {
  for (Shard& shard : dealt)
    for (double& score : shard.scores) score = as_float(score);
  return dealt;
}

Dealt deal(Random& random, Index rows, const std::vector<Index>& columns, double spread = 1.5) {
  Dealt dealt;
  for (const Index cols : columns) {
    Shard& shard = dealt.emplace_back(Shard{rows, cols, {}});
    for (Index at = 0; at < rows * cols; ++at) shard.scores.push_back(spread * random.normal());
  }
  return dealt;
}

// The answers of the ranks.
struct Run {
  CallRecord record;
  std::vector<std::vector<double>> weights;  // per rank, [rows, cols]
  std::vector<Answer<std::vector<State>>> answers;
  DType precision = DType::kFloat64;
};

std::string place(std::size_t rank) { return "rank " + std::to_string(rank); }

std::string described(const Dealt& dealt) {
  std::string text = std::to_string(dealt.size()) + (dealt.size() == 1 ? " rank" : " ranks") + " with ";
  for (std::size_t r = 0; r < dealt.size(); ++r) text += (r == 0 ? "" : ", ") + std::to_string(dealt[r].cols);
  return text + " columns of " + std::to_string(dealt[0].rows) + " rows: ";
}

// The student's function, once on every rank; an error carries the label in front.
Run run(Trial& trial, const std::string& label, const Dealt& dealt, DeliveryOptions delivery = {}) {
  Run run{.precision = trial.precision()};
  std::vector<Matrix<double>> views;
  run.weights.reserve(dealt.size());
  for (const Shard& shard : dealt)
    views.push_back(
        {run.weights.emplace_back(shard.scores.size(), verify::unwritten()), shard.rows, shard.cols});
  const auto scores = [&](std::size_t r) {
    return Matrix<const double>{dealt[r].scores, dealt[r].rows, dealt[r].cols};
  };
  with_label(label, [&] {
    run.record = trial.call_ranks<DistributedSoftmax>(
        dealt.size(), [&](std::size_t r, auto use) { return use(scores(r), views[r]); }, delivery);
    for (std::size_t r = 0; r < dealt.size(); ++r)
      run.answers.push_back(trial.answer<DistributedSoftmax>(run.record.replies[r], scores(r), views[r]));
  });
  for (std::size_t r = 0; r < dealt.size(); ++r)
    if (run.answers[r].result.size() != static_cast<std::size_t>(dealt[r].rows))
      throw Wrong(sign::kValues, "states", "{}{} returns {} states, one for each of {} rows is asked for",
                  label, place(r), run.answers[r].result.size(), dealt[r].rows);
  return run;
}

void require_close(const std::string& where, double got, long double want, long double scale,
                   DType precision = DType::kFloat64) {
  const long double error = std::fabs(static_cast<long double>(got) - want),
                    least = precision == DType::kFloat64 ? 0 : 1e-36L;
  if (got == static_cast<double>(want) || error <= tolerance_of(precision) * scale + least)
    return;  // NaN fails both
  throw Wrong(sign_of(got), "number", "{} is {}, and must be {}{}", where, digits_of(got),
              digits_of(static_cast<double>(want)),
              std::isnan(got) ? " (weights are full of NaN until you write them)" : "");
}

// Softmax of row i over the columns of all ranks. The scale of a weight carries the condition of its score.
struct WholeRow {
  long double max = kHidden, sum = 0, condition = 0;

  WholeRow(const Dealt& dealt, Index i) {
    const auto each = [&](auto action) {
      for (const Shard& shard : dealt)
        for (Index j = 0; j < shard.cols; ++j)
          if (shard.score(i, j) != kHidden) action(static_cast<long double>(shard.score(i, j)));
    };
    each([&](long double s) { max = std::max(max, s); });
    each([&](long double s) { sum += std::exp(s - max); });
    each([&](long double s) { condition += std::exp(s - max) / sum * (1 + std::fabs(s)); });
  }
  long double weight(double score) const { return score == kHidden ? 0 : std::exp(score - max) / sum; }
  long double scale(double score) const {
    return score == kHidden ? 0 : weight(score) * (1 + std::fabs(score) + condition);
  }
};

// Inputs and results of the ranks, for a diagnosis.
verify::SharedScanExhibit exhibit_of(const Dealt& dealt, const Run& run) {
  verify::SharedScanExhibit shared{.ranks = {}, .precision = run.precision};
  for (std::size_t r = 0; r < dealt.size(); ++r) {
    shared.ranks.push_back({dealt[r].rows, dealt[r].cols, dealt[r].scores, run.weights[r], {}, {}});
    for (const State& state : run.answers[r].result) {
      shared.ranks.back().max.push_back(state.max);
      shared.ranks.back().sum.push_back(state.sum);
    }
  }
  return shared;
}

void require_weights(const std::string& label, const Dealt& dealt, const Run& run) {
  exhibiting([&] { return exhibit_of(dealt, run); },
             [&] {
               for (Index i = 0; i < dealt[0].rows; ++i) {
                 const WholeRow row(dealt, i);
                 for (std::size_t r = 0; r < dealt.size(); ++r)
                   for (Index j = 0; j < dealt[r].cols; ++j)
                     require_close(label + place(r) + ", row " + std::to_string(i) + ", column " +
                                       std::to_string(j) + ": the weight",
                                   run.weights[r][static_cast<std::size_t>(i * dealt[r].cols + j)],
                                   row.weight(dealt[r].score(i, j)), row.scale(dealt[r].score(i, j)),
                                   run.precision);
               }
             });
}

void require_states(const std::string& label, const Dealt& dealt, const Run& run) {
  exhibiting([&] { return exhibit_of(dealt, run); },
             [&] {
               for (Index i = 0; i < dealt[0].rows; ++i) {
                 const WholeRow row(dealt, i);
                 for (std::size_t r = 0; r < dealt.size(); ++r) {
                   const State& state = run.answers[r].result[static_cast<std::size_t>(i)];
                   const std::string where = label + place(r) + ", row " + std::to_string(i) + ": ";
                   if (row.max == kHidden) {
                     if (state.max != kHidden || state.sum != 0)
                       throw Wrong(sign::kValues, "state-of-nothing",
                                   "{}no rank has a score, and the state is ({}, {}) instead of (-inf, 0)",
                                   where, digits_of(state.max), digits_of(state.sum));
                     continue;
                   }
                   require_close(where + "m + log l", state.max + std::log(state.sum),
                                 row.max + std::log(row.sum), 1 + row.condition, run.precision);
                 }
               }
             });
}

Run require_right(Trial& trial, const Dealt& dealt, DeliveryOptions delivery = {},
                  const std::string& remark = "") {
  const std::string label = described(dealt) + remark;
  Run result = run(trial, label, dealt, delivery);
  require_weights(label, dealt, result);
  require_states(label, dealt, result);
  return result;
}

// ---- the checks

const Check kOneRank{
    .claim = "On one rank it is an ordinary softmax of each row.",
    .id = "one-rank",
    .weight = 1,
    .hint = "With one rank the state of your columns is the state of the row.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const Dealt dealt = deal(random, 3, {7});
      require_right(trial, dealt);
    }},
};

const Check kNoDeadlock{
    .claim = "It ends on 2 to 5 ranks.",
    .id = "no-deadlock",
    .weight = 0,
    .hint = "Every rank makes the same exchanges, in the same order, for any scores.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const auto& columns : {std::vector<Index>{2, 2}, {2, 2, 2}, {1, 2, 3, 4}, {2, 2, 2, 2, 2}}) {
        const Dealt dealt = deal(random, 2, columns);
        run(trial, described(dealt), dealt);
      }
    }},
};

const Check kWeights{
    .claim = "Each rank gets the weights of its own columns in the softmax of the whole row.",
    .id = "weights",
    .weight = 5,
    .needs = {"no-deadlock"},
    .hint = "Sums that were taken against different maxima cannot be added as they are.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const auto& columns : {std::vector<Index>{4, 4}, {4, 4, 4}, {3, 3, 3, 3}, {2, 2, 2, 2, 2}}) {
        const Dealt dealt = deal(random, 5, columns);
        const std::string label = described(dealt);
        require_weights(label, dealt, run(trial, label, dealt));
      }
    }},
};

const Check kStates{
    .claim = "Every rank returns the state of the whole row.",
    .id = "states",
    .weight = 2,
    .needs = {"no-deadlock"},
    .hint = "The state travels: is it complete on every rank, or only on the last one?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const auto& columns : {std::vector<Index>{4, 4}, {4, 4, 4}, {3, 3, 3, 3}, {2, 2, 2, 2, 2}}) {
        const Dealt dealt = deal(random, 4, columns);
        const std::string label = described(dealt);
        require_states(label, dealt, run(trial, label, dealt));
      }
    }},
};

const Check kUneven{
    .claim = "Any number of columns on a rank, none included.",
    .id = "uneven",
    .weight = 2,
    .needs = {"weights"},
    .hint = "A rank without a column has the state (-inf, 0) and makes the same exchanges as the others.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const auto& columns : {std::vector<Index>{1, 6}, {5, 0}, {0, 0, 9}, {3, 0, 1, 7}, {0, 2, 0, 2, 1}})
        require_right(trial, deal(random, 4, columns));
    }},
};

const Check kHiddenScores{
    .claim = "Scores of -inf, on some ranks or on all of them, get weight 0 and no NaN.",
    .id = "hidden",
    .weight = 2,
    .needs = {"weights"},
    .hint = "What is exp(-inf - (-inf)), and what could you subtract from a row without any score?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      Dealt dealt = deal(random, 6, {3, 2, 4});
      for (std::size_t r = 0; r < dealt.size(); ++r)
        for (Index i = 0; i < 6; ++i)
          for (Index j = 0; j < dealt[r].cols; ++j) {
            const bool everywhere = i == 1, on_the_first = i == 2 && r == 0,
                       on_all_but_one = i == 3 && r != 1;
            if (everywhere || on_the_first || on_all_but_one || (i == 4 && j == 0))
              dealt[r].score(i, j) = kHidden;
          }
      require_right(trial, dealt);
      require_right(trial, deal(random, 3, {0, 0, 0}));
    }},
};

const Check kExtreme{
    .claim = "Scores of +-1000 and +-20000, and gaps of 800 between ranks.",
    .id = "extreme",
    .weight = 2,
    .needs = {"weights"},
    .hint = "Which exponents can be positive? And whose maximum does a row use?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const auto& [first, others] : {std::pair{1000.0, 1000.0},
                                          {-1000.0, -1000.0},
                                          {2e4, 2e4},
                                          {-2e4, -2e4},
                                          {800.0, 0.0},
                                          {0.0, 800.0},
                                          {-800.0, 0.0},  // the larger magnitude is not the larger maximum
                                          {0.0, -800.0},
                                          {-2e4, 2e4}}) {
        Dealt dealt = deal(random, 3, {3, 3, 3});
        for (std::size_t r = 0; r < dealt.size(); ++r)
          for (Index i = 0; i < 2; ++i)  // the last row stays ordinary: each row has its own maximum
            for (Index j = 0; j < 3; ++j) dealt[r].score(i, j) += r == 0 ? first : others;
        require_right(trial, dealt, {}, "scores near " + text_of(first) + " and " + text_of(others) + ": ");
      }
    }},
};

const Check kManyRows{
    .claim = "0, 1, 2 and 33 rows.",
    .id = "many-rows",
    .weight = 1,
    .needs = {"weights"},
    .hint = "Every row has a state of its own; the number of rows is that of scores, not of ranks.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const Index rows : {0, 1, 2, 33}) require_right(trial, deal(random, rows, {3, 2, 4}));
    }},
};

// The owner of a column does not matter: the shards of two ranks, exchanged, give the same weights there.
const Check kAnyOwner{
    .claim = "It does not matter which rank owns which columns.",
    .id = "any-owner",
    .weight = 1,
    .needs = {"no-deadlock"},
    .hint = "The merge of states is commutative: does any line of yours single out a rank?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const Dealt dealt = deal(random, 4, {3, 5, 2, 4});
      const Run before = require_right(trial, dealt);
      Dealt turned = dealt;
      std::rotate(turned.begin(), turned.begin() + 1, turned.end());
      const Run after = require_right(trial, turned);
      for (std::size_t r = 0; r < dealt.size(); ++r)
        for (std::size_t at = 0; at < before.weights[r].size(); ++at)
          require_close(described(turned) + "the weight of the same score on another rank",
                        after.weights[(r + dealt.size() - 1) % dealt.size()][at], before.weights[r][at],
                        10 * std::fabs(before.weights[r][at]));
    }},
};

const Check kSameBits{
    .claim = "All ranks return the same state, bit for bit.",
    .id = "same-bits",
    .weight = 2,
    .needs = {"states"},
    .hint = "Sums depend on their order in the last digit: which order can all ranks agree upon?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const auto& columns : {std::vector<Index>{3, 3, 3}, {2, 3, 4, 5}, {4, 1, 3, 2, 5}}) {
        const Dealt dealt = deal(random, 40, columns, 3);
        const std::string label = described(dealt);
        const Run result = run(trial, label, dealt);
        exhibiting([&] { return exhibit_of(dealt, result); },
                   [&] {
                     for (std::size_t r = 1; r < dealt.size(); ++r)
                       for (std::size_t i = 0; i < 40; ++i) {
                         const State &a = result.answers[0].result[i], &b = result.answers[r].result[i];
                         if (std::memcmp(&a, &b, sizeof a) != 0)
                           throw Wrong(
                               sign::kValues, "states-differ",
                               "{}row {} has another state on rank 0 than on {}: their sums differ by {}",
                               label, i, place(r), digits_of(std::fabs(a.sum - b.sum)));
                       }
                   });
      }
    }},
};

const Check kAnyDelivery{
    .claim = "The result is right at every timing of messages.",
    .id = "any-delivery",
    .weight = 2,
    .needs = {"no-deadlock"},
    .hint = "Between start and wait the network owns the buffers.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const Sending sending : {Sending::kAtStart, Sending::kAtWait})
        for (const std::uint64_t seed : {1, 2, 3})
          require_right(trial, deal(random, 4, {3, 2, 4, 1}), {.seed = seed, .sending = sending},
                        sending == Sending::kAtWait ? "bytes leave at wait: " : "bytes leave at start: ");
    }},
};

const Check kScoresUnchanged{
    .claim = "Scores are only read.",
    .id = "scores-unchanged",
    .weight = 1,
    .needs = {"weights"},
    .hint = "Write into weights; scores belong to the caller.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const Dealt dealt = deal(random, 4, {3, 2, 4});
      const Run result = run(trial, described(dealt), dealt);
      for (std::size_t r = 0; r < dealt.size(); ++r)
        if (result.answers[r].changed != 0) {
          verify::SharedScanExhibit shared = exhibit_of(dealt, result);
          shared.changed = true;
          throw Wrong(sign::kInput, "argument-changed", "{}{} changed its scores, which it may only read",
                      described(dealt), place(r))
              .exhibiting(judge::exhibit_of(std::move(shared)));
        }
    }},
};

const Check kFloats{
    .claim = "float as well as double.",
    .id = "floats",
    .weight = 1,
    .needs = {"states", "uneven", "hidden", "extreme"},
    .hint =
        "A state of float has 8 bytes, and no exponential of a score above 88: which line of yours knows "
        "that?",
    .precision = DType::kFloat32,
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const auto& columns : {std::vector<Index>{4, 4}, {3, 0, 5}, {3, 3, 3, 3}, {2, 1, 2, 4, 2}})
        require_right(trial, in_floats(deal(random, 5, columns)));
      for (const auto& [first, others] : {std::pair{100.0, 100.0},
                                          {-110.0, -110.0},
                                          {100.0, 0.0},
                                          {0.0, 100.0},
                                          {-300.0, -300.0},
                                          {-2e4, 2e4}}) {
        Dealt dealt = deal(random, 3, {3, 3, 3});
        for (std::size_t r = 0; r < dealt.size(); ++r)
          for (Index i = 0; i < 2; ++i)
            for (Index j = 0; j < 3; ++j) dealt[r].score(i, j) += r == 0 ? first : others;
        dealt[0].score(0, 0) = kHidden;
        require_right(trial, in_floats(std::move(dealt)), {},
                      "scores near " + text_of(first) + " and " + text_of(others) + ": ");
      }
    }},
};

Index most_sent(const CallRecord& record) {
  const auto n = static_cast<int>(record.replies.size());
  Index most = 0;
  for (int from = 0; from < n; ++from) {
    Index sent = 0;
    for (int to = 0; to < n; ++to) sent += record.moved(from, to);
    most = std::max(most, sent);
  }
  return most;
}

const Check kOnlyStates{
    .claim = "The traffic does not grow with the number of columns.",
    .id = "only-states",
    .weight = 2,
    .needs = {"weights"},
    .hint = "What does another rank need to know of your scores, apart from two numbers for each row?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      constexpr Index kRows = 3, kRanks = 4, kState = 2 * 8;
      const auto sent = [&](Index cols) {
        const Dealt dealt = deal(random, kRows, std::vector<Index>(kRanks, cols));
        return most_sent(run(trial, described(dealt), dealt).record);
      };
      const Index few = sent(2), many = sent(60), most = 2 * (kRanks - 1) * kRows * kState;
      trial.note({"bytes sent by the busiest of 4 ranks, 3 rows", static_cast<double>(few),
                  static_cast<double>((kRanks - 1) * kRows * kState), "B"});
      if (many != few)
        throw Wrong(sign::kCounts, "bytes-by-columns",
                    "with 60 columns a rank sends {} bytes, with 2 columns {}; a state has two numbers, "
                    "however many columns it stands for",
                    many, few);
      if (few > most)
        throw Wrong(sign::kCounts, "too-many-bytes",
                    "a rank sends {} bytes for 3 rows on 4 ranks, and {} are enough for every algorithm", few,
                    most);
    }},
};

// Every message takes one second: the latest clock counts the messages that wait for each other.
const Check kTogether{
    .claim = "The states of all rows travel together.",
    .id = "together",
    .weight = 1,
    .needs = {"weights"},
    .hint = "A message costs its latency, however short it is: how many messages do 20 rows need?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const auto phases = [&](Index rows) {
        const Dealt dealt = deal(random, rows, {2, 2, 2, 2});
        const Run result = run(trial, described(dealt), dealt, {.link = {.alpha = 1}});
        return static_cast<int>(std::ranges::max(result.record.clocks));
      };
      const int one = phases(1), many = phases(20);
      trial.note({"phases, 4 ranks", static_cast<double>(one), 2.0, ""});
      if (many > one)
        throw Wrong(sign::kCounts, "phases",
                    "1 row takes {} phases, 20 rows take {}; the states of all rows fit into one message",
                    one, many);
    }},
};

// ---- for a diagnosis

// The reason why a call does not end, if one of these does not.
verify::Exhibit interview(Trial& trial) {
  for (const auto& columns : {std::vector<Index>{3, 4}, {3, 2, 4}, {2, 5, 3, 4}, {3, 0, 2, 4}}) {
    Random random(trial.seed());
    const Dealt dealt = deal(random, 4, columns);
    try {
      run(trial, "", dealt);
    } catch (const Wrong&) {
    } catch (const Misbehaviour& misbehaviour) {
      std::vector<Index> bytes;
      for (const Shard& shard : dealt) bytes.push_back(shard.rows * shard.cols * 8);
      return judge::exhibit_of(
          stuck_exhibit(misbehaviour, static_cast<int>(dealt.size()), 0, std::move(bytes)));
    }
  }
  return nullptr;
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneRank,      kNoDeadlock,      kWeights,    kStates,   kUneven,
                            kHiddenScores, kExtreme,         kManyRows,   kAnyOwner, kSameBits,
                            kAnyDelivery,  kScoresUnchanged, kOnlyStates, kTogether, kFloats};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
