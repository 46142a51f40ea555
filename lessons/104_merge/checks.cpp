// Lesson 104: checks of a merge. They make partial results from scores and values; a merge must give the
// attention over all of the keys, summed in long double. They look at a result only as (O / l, m + log l), so
// any running maximum that leaves the same attention is right.
#include <cmath>
#include <limits>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/checks/ring_trial.hpp"
#include "judge/checks/row_trial.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::judge {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// (O, m, l) with its memory.
struct Part {
  Index rows, cols;
  std::vector<double> out, max, sum;

  Part(Index r, Index c)
      : rows(r),
        cols(c),
        out(static_cast<std::size_t>(r * c)),
        max(static_cast<std::size_t>(r), -kInfinity),
        sum(static_cast<std::size_t>(r)) {}
  Partial<double> view() { return {{out, rows, cols}, max, sum}; }
};

// Some keys as some rows see them: a score for every pair (-inf: not visible) and a value per key.
struct Keys {
  Index rows, cols, count;
  std::vector<double> scores, values;  // [rows, count], [count, cols]
  DType precision = DType::kFloat64;   // in which they are merged

  double& score(Index i, Index k) { return scores[static_cast<std::size_t>(i * count + k)]; }
  double score(Index i, Index k) const { return scores[static_cast<std::size_t>(i * count + k)]; }
  double value(Index k, Index j) const { return values[static_cast<std::size_t>(k * cols + j)]; }
};

// The same keys as float holds them.
Keys in_floats(Keys keys) {
  for (double& score : keys.scores) score = as_float(score);
  for (double& value : keys.values) value = as_float(value);
  keys.precision = DType::kFloat32;
  return keys;
}

Keys random_keys(Random& random, Index rows, Index cols, Index count, double spread = 1.5) {
  Keys keys{rows, cols, count, {}, {}};
  for (Index i = 0; i < rows * count; ++i) keys.scores.push_back(spread * random.normal());
  for (Index i = 0; i < count * cols; ++i) keys.values.push_back(random.normal());
  return keys;
}

// The partial result over the keys [first, last): m is the largest score, O and l are sums of exp(score - m).
Part partial(const Keys& keys, Index first, Index last) {
  Part part(keys.rows, keys.cols);
  for (Index i = 0; i < keys.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (Index k = first; k < last; ++k) part.max[row] = std::max(part.max[row], keys.score(i, k));
    for (Index k = first; k < last; ++k) {
      if (keys.score(i, k) == -kInfinity) continue;
      const double weight = std::exp(keys.score(i, k) - part.max[row]);
      part.sum[row] += weight;
      for (Index j = 0; j < keys.cols; ++j) part.view().out(i, j) += weight * keys.value(k, j);
    }
  }
  if (keys.precision == DType::kFloat32)
    for (auto* const numbers : {&part.out, &part.sum})
      for (double& x : *numbers) x = as_float(x);
  return part;
}

// Row i, which sees no key.
void require_nothing(const std::string& label, Part& got, Index i) {
  const auto row = static_cast<std::size_t>(i);
  const std::string where = label + ": row " + std::to_string(i) + " has seen no key, and its ";
  const auto require = [&](const char* name, double number, double want) {
    if (number != want)
      throw Wrong(std::isnan(number) ? sign::kNoNumber : sign::kValues, "state-of-nothing",
                  "{}{} is {} instead of {}", where, Name{name}, digits_of(number), digits_of(want));
  };
  require("m", got.max[row], -kInfinity);
  require("l", got.sum[row], 0);
  for (Index j = 0; j < got.cols; ++j) require("O", got.view().out(i, j), 0);
}

// Throws Wrong unless `got` is attention over all keys. Scales are those of the harness's oracle: each weight
// also carries the condition 1 + |score| of its score.
void require_attention(const std::string& label, Part& got, const Keys& keys) {
  require_each("state", keys.rows, [&](Index i) {
    long double m = -kInfinity, l = 0, condition = 0;
    for (Index k = 0; k < keys.count; ++k) m = std::max<long double>(m, keys.score(i, k));
    if (m == -kInfinity) return require_nothing(label, got, i);
    std::vector<long double> weights;
    for (Index k = 0; k < keys.count; ++k) l += weights.emplace_back(std::exp(keys.score(i, k) - m));
    const auto conditioned = [&](Index k) {
      return weights[static_cast<std::size_t>(k)] > 0 ? 1 + std::fabs(keys.score(i, k)) : 0.0;
    };
    for (Index k = 0; k < keys.count; ++k)
      condition += weights[static_cast<std::size_t>(k)] / l * conditioned(k);

    const auto row = static_cast<std::size_t>(i);
    const std::string where = label + ": row " + std::to_string(i);
    require_close(where + ": m + log l", got.max[row] + std::log(got.sum[row]), m + std::log(l),
                  1 + condition, keys.precision);
    for (Index j = 0; j < keys.cols; ++j) {
      long double want = 0, scale = 0;
      for (Index k = 0; k < keys.count; ++k) {
        const long double share = weights[static_cast<std::size_t>(k)] / l;
        want += share * keys.value(k, j);
        scale += share * (conditioned(k) + condition) * std::fabs(keys.value(k, j));
      }
      require_close(where + ", column " + std::to_string(j) + ": O / l", got.view().out(i, j) / got.sum[row],
                    want, scale, keys.precision);
    }
  });
}

// The student's merge: acc becomes acc and block together. Whether it has written to the block.
bool merge_into(Trial& trial, Part& acc, Part block) {
  return trial.call<Merge>(acc.view(), Partial<const double>(block.view())).changed != 0;
}

// Inputs and results of a merge, for a diagnosis.
verify::MergeExhibit exhibit_of_merge(const Part& acc, const Part& block, const Part& result,
                                      bool changed = false, DType precision = DType::kFloat64) {
  const auto numbers = [](const Part& part) { return verify::PartialNumbers{part.out, part.max, part.sum}; };
  return {.rows = acc.rows,
          .cols = acc.cols,
          .acc = numbers(acc),
          .block = numbers(block),
          .result = numbers(result),
          .precision = precision,
          .changed = changed};
}

// Merges block into acc, which must then be attention over all keys.
void require_merge(Trial& trial, const std::string& label, Part acc, const Part& block, const Keys& keys) {
  const Part before = acc;
  const bool changed = merge_into(trial, acc, block);
  exhibiting([&] { return exhibit_of_merge(before, block, acc, changed, keys.precision); },
             [&] { require_attention(label, acc, keys); });
}

// Cuts the keys at these places, merges the parts from left to right, starting with the first.
void require_split(Trial& trial, const std::string& label, const Keys& keys, std::vector<Index> cuts) {
  if (cuts.size() == 1)
    return require_merge(trial, label, partial(keys, 0, cuts[0]), partial(keys, cuts[0], keys.count), keys);
  cuts.push_back(keys.count);
  Part acc = partial(keys, 0, cuts.front());
  for (std::size_t c = 1; c < cuts.size(); ++c) merge_into(trial, acc, partial(keys, cuts[c - 1], cuts[c]));
  require_attention(label, acc, keys);
}

// ---- the checks

const Check kTwoHalves{
    .claim = "Two halves of the keys, merged, are attention over all of them.",
    .id = "two-halves",
    .weight = 5,
    .hint =
        "Both sides were summed against their own maximum: bring O and l to one common maximum before you "
        "add.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (int i = 0; i < 3; ++i)
        require_split(trial, "16 keys, 8 and 8", random_keys(random, 6, 5, 16), {8});
    }},
};

const Check kNothingWithNothing{
    .claim = "Two empty sides merge to (0, -inf, 0), without a NaN.",
    .id = "nothing-with-nothing",
    .weight = 0,
    .hint = "What is exp(-inf - (-inf)), and which maximum could you subtract when neither side has one?",
    .run{[](Trial& trial) {
      Part acc(3, 4);
      const Part before = acc;
      merge_into(trial, acc, Part(3, 4));
      exhibiting([&] { return exhibit_of_merge(before, Part(3, 4), acc); },
                 [&] {
                   for (Index i = 0; i < 3; ++i) require_nothing("nothing merged with nothing", acc, i);
                 });
    }},
};

const Check kNothingOnOneSide{
    .claim = "Merging with an empty side, first or second, changes nothing.",
    .id = "nothing-on-one-side",
    .weight = 0,
    .hint = "A side that has seen no key must get the weight 0, and the other one the weight 1.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const Keys keys = random_keys(random, 4, 3, 7);
      require_merge(trial, "7 keys merged with nothing", partial(keys, 0, 7), Part(4, 3), keys);
      require_merge(trial, "nothing merged with 7 keys", Part(4, 3), partial(keys, 0, 7), keys);
    }},
};

// Rows that see both sides, only the first, only the second, none.
const Check kOneSidedRows{
    .claim = "Rows that see keys on one side only, or on none, come out right.",
    .id = "one-sided-rows",
    .weight = 1,
    .needs = {"two-halves"},
    .hint =
        "What is exp(-inf - (-inf))? A row may have no key on one side, or on both, while its neighbour has "
        "keys on each.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      Keys keys = random_keys(random, 8, 3, 10);
      for (Index i = 0; i < keys.rows; ++i)
        for (Index k = 0; k < keys.count; ++k) {
          const bool first_side = k < 5;
          if ((i % 4 == 1 && !first_side) || (i % 4 == 2 && first_side) || i % 4 == 3)
            keys.score(i, k) = -kInfinity;
        }
      require_split(trial, "rows that see one side only", keys, {5});
    }},
};

const Check kExtremeMaxima{
    .claim = "Maxima of +-1000 and +-20000, and gaps of 800, neither overflow nor vanish.",
    .id = "extreme-maxima",
    .weight = 2,
    .needs = {"two-halves"},
    .hint =
        "Which of the exponents in your weights can be positive? With the larger maximum subtracted, none "
        "is.",
    .run{[](Trial& trial) {
      struct Extreme {
        const char* label;
        double first, second;  // added to the scores of the two sides
      };
      constexpr Extreme kExtremes[] = {
          {"all scores near 1000", 1000, 1000},
          {"all scores near -1000", -1000, -1000},
          {"all scores near 20000", 2e4, 2e4},
          {"all scores near -20000", -2e4, -2e4},
          {"the second side 800 above the first", 0, 800},
          {"the first side 800 above the second", 800, 0},
          {"sides at -800 and 0", -800, 0},  // the larger magnitude is not the larger maximum
          {"sides at 0 and -800", 0, -800},
          {"sides at -20000 and 0", -2e4, 0},
          {"sides at 0 and -20000", 0, -2e4},
          {"sides at -20000 and 20000", -2e4, 2e4},
          {"sides at 1000 and -1000", 1000, -1000},
      };
      Random random(trial.seed());
      for (const auto& [label, first, second] : kExtremes) {
        Keys keys = random_keys(random, 4, 3, 8);
        for (Index i = 0; i < keys.rows; ++i)
          for (Index k = 0; k < keys.count; ++k) keys.score(i, k) += k < 4 ? first : second;
        require_split(trial, label, keys, {4});
      }
    }},
};

const Check kEitherOrder{
    .claim = "The order of the two sides does not matter.",
    .id = "either-order",
    .weight = 1,
    .hint = "Swap the two sides on paper: does every line of yours stay true?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const Keys keys = random_keys(random, 4, 3, 9, 20);
      const Part first = partial(keys, 0, 3), second = partial(keys, 3, 9);
      require_merge(trial, "first side, then second", first, second, keys);
      require_merge(trial, "second side, then first", second, first, keys);
    }},
};

const Check kEitherBracket{
    .claim = "(a + b) + c and a + (b + c) are the same attention.",
    .id = "either-bracket",
    .weight = 1,
    .hint = "acc will be merged again: O stays a sum, and is divided by l only at the very end.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const Keys keys = random_keys(random, 4, 3, 12, 20);
      require_split(trial, "(a + b) + c", keys, {3, 7});
      Part right = partial(keys, 3, 7);
      merge_into(trial, right, partial(keys, 7, 12));
      Part all = partial(keys, 0, 3);
      merge_into(trial, all, right);
      require_attention("a + (b + c)", all, keys);
    }},
};

const Check kUnevenSplits{
    .claim = "Splits into 1 and 23 keys, or into 24 single keys, work like two halves.",
    .id = "uneven-splits",
    .weight = 1,
    .hint = "The weight of a side comes from its m and l alone, not from how many keys or blocks it had.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const Keys keys = random_keys(random, 3, 4, 24);
      require_split(trial, "24 keys, 1 and 23", keys, {1});
      require_split(trial, "24 keys, 23 and 1", keys, {23});
      std::vector<Index> one_by_one;
      for (Index k = 1; k < keys.count; ++k) one_by_one.push_back(k);
      require_split(trial, "24 keys one by one", keys, one_by_one);
    }},
};

const Check kOddSizes{
    .claim = "Any number of rows and any head_dim is merged to the last element.",
    .id = "odd-sizes",
    .weight = 1,
    .needs = {"two-halves"},
    .hint =
        "Take the numbers of rows and columns from acc.out; they need not be equal, even, or larger than 1.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {1, 9}, {7, 1}, {3, 13}, {33, 64}})
        require_split(trial, std::to_string(rows) + " rows, head_dim " + std::to_string(cols),
                      random_keys(random, rows, cols, 10), {4});
    }},
};

const Check kFloats{
    .claim = "float as well as double.",
    .id = "floats",
    .weight = 1,
    .needs = {"one-sided-rows", "extreme-maxima", "odd-sizes"},
    .hint =
        "T is float, too: 7 digits, and no exponential of a score above 88. Which line of yours knows that?",
    .precision = DType::kFloat32,
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const auto split = [&](const std::string& label, double first, double second, bool one_sided = false) {
        Keys keys = random_keys(random, 6, 5, 12);
        for (Index i = 0; i < keys.rows; ++i)
          for (Index k = 0; k < keys.count; ++k) {
            keys.score(i, k) += k < 6 ? first : second;
            if (one_sided && i % 3 == (k < 6 ? 1 : 2)) keys.score(i, k) = -kInfinity;
          }
        require_split(trial, label, in_floats(std::move(keys)), {6});
      };
      for (int i = 0; i < 3; ++i) split("12 keys, 6 and 6", 0, 0);
      for (const double level : {100.0, -110.0, 300.0, -300.0, 2e4, -2e4})
        split("all scores near " + text_of(level), level, level);
      split("the second side 100 above the first", 0, 100);
      split("the first side 100 above the second", 100, 0);
      split("rows that see one side only", 0, 0, true);
    }},
};

const Check kBlockUnchanged{
    .claim = "Only acc is written; block is read.",
    .id = "block-unchanged",
    .weight = 1,
    .needs = {"two-halves"},
    .hint = "The block may be merged again elsewhere: leave its O, m and l as they are.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const Keys keys = random_keys(random, 4, 3, 10);
      Part acc = partial(keys, 0, 5);
      const Part before = acc, block = partial(keys, 5, 10);
      const bool changed = merge_into(trial, acc, block);
      if (changed)
        throw Wrong(sign::kInput, "argument-changed", "your merge changed block, which it may only read")
            .exhibiting(exhibit_of(exhibit_of_merge(before, block, acc, changed)));
    }},
};

const Check kDrivesTheRing{
    .claim = "The library's ring on 3 ranks, which calls your merge, equals the oracle.",
    .id = "drives-the-ring",
    .weight = 2,
    .needs = {"two-halves"},
    .hint = "The ring starts from (0, -inf, 0) and meets blocks that some rows do not see at all.",
    .run{[](Trial& trial) {
      const auto ring = [&](Layout layout, Mask mask, verify::Data data) {
        const Problem problem = make_problem({1, 4, 2, 31, 6}, std::move(mask), layout, 3);
        require_right_ring(trial, verify::make_case(problem, data, trial.seed()));
      };
      ring(Layout::kContiguous, full_mask(), verify::Data::kNormal);
      ring(Layout::kZigzag, causal_mask(), verify::Data::kHot);
      ring(Layout::kContiguous, full_mask(), verify::Data::kHuge);
    }},
};

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  return {kTwoHalves,     kNothingWithNothing, kNothingOnOneSide, kOneSidedRows,
          kExtremeMaxima, kEitherOrder,        kEitherBracket,    kUnevenSplits,
          kOddSizes,      kBlockUnchanged,     kDrivesTheRing,    kFloats};
}

}  // namespace ringcraft::judge
