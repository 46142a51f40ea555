// Lesson 101: checks of dense attention on one head. They compare values with the harness's oracle, which
// decides by its own predicate which keys a query sees, and results of related calls with each other.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "judge/checks/block_trial.hpp"
#include "judge/checks/head_trial.hpp"
#include "judge/checks/row_trial.hpp"
#include "judge/wire/exercises.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::judge {
namespace {

using verify::BlockCase;
using verify::Data;

// ---- against the oracle

// Consecutive positions [first, first + count).
std::vector<Position> positions(Position first, Position count) {
  std::vector<Position> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

// One head: these queries against these keys under a mask.
BlockCase one_head(Trial& trial, std::string name, std::vector<Position> queries, std::vector<Position> keys,
                   const Mask& mask, Index head_dim, double softmax_scale, Data data = Data::kNormal) {
  const Position seqlen = std::max(queries.empty() ? 0 : queries.back(), keys.empty() ? 0 : keys.back()) + 1;
  KeyRanges ranges = ranges_of(mask, seqlen, queries, keys);
  return {std::move(name),
          {1, 1, 1, head_dim, mask, std::move(queries), std::move(keys), softmax_scale},
          std::move(ranges),
          data,
          trial.seed()};
}

const Check kOneKey{
    .claim = "A row that sees one key gives that key's value, and its score as lse.",
    .id = "one-key",
    .weight = 1,
    .hint = "A single weight is 1 for every score: is out then the value of that key?",
    .run{[](Trial& trial) {
      const auto tokens = positions(0, 6);
      require_dense(
          trial, {one_head(trial, "each of 6 rows sees its own key", tokens, tokens, window_mask(0), 4, 0.5),
                  one_head(trial, "3 rows, 1 key", positions(0, 3), {0}, full_mask(), 4, 0.5)});
    }},
};

const Check kEveryKey{
    .claim = "Rows that see every key give the weighted mean of all values.",
    .id = "every-key",
    .weight = 4,
    .hint =
        "Write the three steps for one row on paper: scores, weights that add up to 1, weighted sum of the "
        "values.",
    .run{[](Trial& trial) {
      require_dense(trial, {one_head(trial, "4 rows see all of 4 keys", positions(0, 4), positions(0, 4),
                                     full_mask(), 4, 0.5),
                            one_head(trial, "9 rows see all of 13 keys", positions(0, 9), positions(0, 13),
                                     full_mask(), 4, 0.5)});
    }},
};

const Check kAnyScale{
    .claim = "softmax_scale multiplies the scores, for any value.",
    .id = "any-scale",
    .weight = 1,
    .needs = {"every-key"},
    .hint = "Where in the formula does the scale stand, and how often?",
    .run{[](Trial& trial) {
      for (const double scale : {0.1, 1.0, 2.5, -0.7})
        require_dense(trial, {one_head(trial, "softmax_scale " + text_of(scale), positions(0, 6),
                                       positions(0, 7), full_mask(), 9, scale)});
    }},
};

const Check kCausal{
    .claim = "Row i takes the keys from begin[i] up to, not including, end[i].",
    .id = "causal",
    .weight = 1,
    .needs = {"every-key"},
    .hint = "Which is the last key of row 0 under a causal mask, and what is end[0]?",
    .run{[](Trial& trial) {
      const auto tokens = positions(0, 17);
      require_dense(trial, {one_head(trial, "17 tokens, causal", tokens, tokens, causal_mask(), 4, 0.5)});
    }},
};

const Check kAnyRange{
    .claim = "Windows, packed sequences and foreign positions are other ranges, and nothing else.",
    .id = "any-range",
    .weight = 1,
    .needs = {"causal"},
    .hint = "A range need not begin at key 0, and the rows need not be as many as the keys.",
    .run{[](Trial& trial) {
      const auto tokens = positions(0, 20);
      Mask packed = causal_mask();
      packed.cu_seqlens = {0, 5, 6, 13, 20};
      Mask two_sided = window_mask(3);
      two_sided.right = 2;
      require_dense(
          trial,
          {one_head(trial, "20 tokens, a window of 3", tokens, tokens, window_mask(3), 4, 0.5),
           one_head(trial, "20 tokens, 3 to the left and 2 to the right", tokens, tokens, two_sided, 4, 0.5),
           one_head(trial, "20 tokens in four sequences", tokens, tokens, packed, 4, 0.5),
           one_head(trial, "every third token against every second one, causal", {0, 3, 6, 9, 12, 15, 18},
                    {0, 2, 4, 6, 8, 10, 12, 14, 16, 18}, causal_mask(), 4, 0.5)});
    }},
};

const Check kRowsWithoutAKey{
    .claim = "A row without a key gives out = 0 and lse = -inf, without a NaN.",
    .id = "rows-without-a-key",
    .weight = 1,
    .needs = {"every-key"},
    .hint = "Which of your lines divides, or takes a logarithm, when a row has no key?",
    .run{[](Trial& trial) {
      const auto late = positions(4, 8);
      require_dense(trial,
                    {one_head(trial, "12 rows, of which 4 come before every key", positions(0, 12), late,
                              causal_mask(), 3, 0.5),
                     one_head(trial, "no row sees a key", positions(0, 4), late, causal_mask(), 3, 0.5),
                     one_head(trial, "a window of 2 that has moved past the keys", positions(0, 12),
                              positions(0, 6), window_mask(2), 3, 0.5)});
    }},
};

const Check kAnySize{
    .claim = "Any number of rows, keys and columns works, 0 and 1 included.",
    .id = "any-size",
    .weight = 1,
    .needs = {"every-key"},
    .hint = "Take rows from q, keys from k and columns from head_dim; none of them need be equal.",
    .run{[](Trial& trial) {
      const auto full = [&](Position rows, Position keys, Index head_dim) {
        require_dense(trial, {one_head(trial,
                                       std::to_string(rows) + " rows, " + std::to_string(keys) +
                                           " keys, head_dim " + std::to_string(head_dim),
                                       positions(0, rows), positions(0, keys), full_mask(), head_dim, 0.4)});
      };
      full(1, 1, 1);
      full(1, 30, 5);
      full(30, 1, 5);
      full(7, 5, 1);
      full(5, 33, 17);
      full(33, 5, 64);
      full(4, 0, 3);
      const std::vector<double> numbers(12, 1.0);  // no row: nothing to compare, but the call must return
      const Matrix<const double> keys{numbers, 4, 3};
      trial.call<DenseForward>(Matrix<const double>{{}, 0, 3}, keys, keys, KeyRanges{}, 0.4,
                               Matrix<double>{{}, 0, 3}, std::span<double>());
    }},
};

const Check kExtremeScores{
    .claim = "Scores of +-20000 and gaps of more than 88 neither overflow nor vanish.",
    .id = "extreme-scores",
    .weight = 1,
    .needs = {"causal"},
    .hint = "exp of a large score is infinite: what may be subtracted from all scores of a row?",
    .run{[](Trial& trial) {
      const auto tokens = positions(0, 24);
      for (const Data data : {Data::kHot, Data::kNegative, Data::kGap, Data::kPeaked, Data::kHuge})
        require_dense(trial,
                      {one_head(trial, std::string("24 tokens, causal, scores ") + std::string(name_of(data)),
                                tokens, tokens, causal_mask(), 8, 0.35, data)});
    }},
};

const Check kTableOfBlocks{
    .claim = "Your function alone equals the oracle on the harness's table of single blocks.",
    .id = "table-of-blocks",
    .weight = 2,
    .needs = {"any-range", "rows-without-a-key", "any-size"},
    .hint = "The case's name says mask, layout, lengths and the kind of scores: which of them is new here?",
    .run{[](Trial& trial) { require_dense(trial, some_blocks(trial, 0, 5)); }},
};

const Check kFloats{
    .claim = "float as well as double.",
    .id = "floats",
    .weight = 1,
    .needs = {"any-range", "rows-without-a-key", "extreme-scores"},
    .hint =
        "T is float, too: 7 digits, and no exponential of a score above 88. Which line of yours knows that?",
    .precision = DType::kFloat32,
    .run{[](Trial& trial) {
      const auto tokens = positions(0, 24), late = positions(4, 20);
      require_dense(
          trial, {one_head(trial, "24 tokens, a window of 5", tokens, tokens, window_mask(5), 4, 0.5),
                  one_head(trial, "24 rows, of which 4 come before every key", tokens, late, causal_mask(), 3,
                           0.5)});
      for (const Data data : {Data::kHot, Data::kNegative, Data::kGap})
        require_dense(trial,
                      {one_head(trial, std::string("24 tokens, causal, scores ") + std::string(name_of(data)),
                                tokens, tokens, causal_mask(), 8, 0.35, data)});
    }},
};

// ---- properties

// One head with its memory, and the result of the student's function.
struct AttendedHead {
  Index rows, keys, cols;
  std::vector<double> q, k, v, out, lse;
  KeyRanges ranges;
  std::uint32_t changed = 0;

  AttendedHead(Random& random, Index r, Index n, Index c, KeyRanges seen)
      : rows(r),
        keys(n),
        cols(c),
        q(normal(random, r * c)),
        k(normal(random, n * c)),
        v(normal(random, n * c)),
        ranges(std::move(seen)) {}

  static std::vector<double> normal(Random& random, Index count) {
    std::vector<double> numbers(static_cast<std::size_t>(count));
    for (double& x : numbers) x = random.normal();
    return numbers;
  }

  AttendedHead& attend(Trial& trial) {
    out.assign(static_cast<std::size_t>(rows * cols), verify::unwritten());
    lse.assign(static_cast<std::size_t>(rows), verify::unwritten());
    changed =
        trial
            .call<DenseForward>(Matrix<const double>{q, rows, cols}, Matrix<const double>{k, keys, cols},
                                Matrix<const double>{v, keys, cols}, ranges, 0.5,
                                Matrix<double>{out, rows, cols}, std::span<double>(lse))
            .changed;
    return *this;
  }
  double result(Index i, Index j) const { return out[static_cast<std::size_t>(i * cols + j)]; }
};

KeyRanges causal_ranges(Index tokens) { return key_ranges(causal_mask(), tokens); }

const Check kMeanOfOnes{
    .claim = "If every value is 1, so is every number of out.",
    .id = "mean-of-ones",
    .weight = 0,
    .hint = "The weights of a row must add up to 1: are they divided by their own sum?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      AttendedHead head(random, 9, 9, 3, causal_ranges(9));
      std::ranges::fill(head.v, 1.0);
      head.attend(trial);
      for (Index i = 0; i < head.rows; ++i)
        for (Index j = 0; j < head.cols; ++j)
          require_close(
              "every value is 1: row " + std::to_string(i) + ", column " + std::to_string(j) + " of out",
              head.result(i, j), 1, 10);
    }},
};

// out(2 v - 3 u) = 2 out(v) - 3 out(u), with the same weights.
const Check kLinearInValues{
    .claim = "The weights do not depend on the values: out is linear in v.",
    .id = "linear-in-values",
    .weight = 1,
    .needs = {"mean-of-ones"},
    .hint = "Nothing that you compute before the last step may look at v.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      AttendedHead first(random, 7, 11, 4, ranges_of(full_mask(), 11, positions(0, 7), positions(0, 11)));
      // Key 5 is visible, and its value is zero.
      std::fill_n(first.v.begin() + 5 * first.cols, first.cols, 0.0);
      AttendedHead second = first, mixed = first;
      second.v = AttendedHead::normal(random, second.keys * second.cols);
      for (std::size_t x = 0; x < mixed.v.size(); ++x) mixed.v[x] = 2 * first.v[x] - 3 * second.v[x];
      first.attend(trial);
      second.attend(trial);
      mixed.attend(trial);
      for (Index i = 0; i < mixed.rows; ++i)
        for (Index j = 0; j < mixed.cols; ++j)
          require_close(
              "values 2 v - 3 u: row " + std::to_string(i) + ", column " + std::to_string(j) + " of out",
              mixed.result(i, j), 2 * first.result(i, j) - 3 * second.result(i, j), 100);
    }},
};

// Keys and their values in the opposite order.
const Check kOrderOfKeys{
    .claim = "The order of the keys does not matter as long as their values follow.",
    .id = "order-of-keys",
    .weight = 0,
    .hint = "A sum has no order: does some line of yours treat the first or the last key differently?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      AttendedHead forth(random, 5, 10, 3, ranges_of(full_mask(), 10, positions(0, 5), positions(0, 10)));
      AttendedHead back = forth;
      for (Index n = 0; n < forth.keys; ++n)
        for (Index j = 0; j < forth.cols; ++j) {
          const auto to = static_cast<std::size_t>((forth.keys - 1 - n) * forth.cols + j),
                     from = static_cast<std::size_t>(n * forth.cols + j);
          back.k[to] = forth.k[from];
          back.v[to] = forth.v[from];
        }
      forth.attend(trial);
      back.attend(trial);
      for (Index i = 0; i < forth.rows; ++i) {
        const std::string where = "10 keys in the opposite order: row " + std::to_string(i);
        const auto row = static_cast<std::size_t>(i);
        require_close(where + " of lse", back.lse[row], forth.lse[row], 10);
        for (Index j = 0; j < forth.cols; ++j)
          require_close(where + ", column " + std::to_string(j) + " of out", back.result(i, j),
                        forth.result(i, j), 100);
      }
    }},
};

// A change of key j and its value moves exactly the rows that see key j; the others keep every bit.
const Check kLeakProbe{
    .claim = "A change of one key moves exactly the rows that see it.",
    .id = "leak-probe",
    .weight = 1,
    .needs = {"every-key"},
    .hint = "What is left in the row of scores outside the range when the row is multiplied with v?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      Mask mask = window_mask(4);
      mask.cu_seqlens = {0, 3, 12, 15};
      const AttendedHead before = AttendedHead(random, 15, 15, 3, key_ranges(mask, 15)).attend(trial);
      for (Index key = 0; key < before.keys; ++key) {
        AttendedHead after = before;
        for (Index j = 0; j < after.cols; ++j) {
          after.k[static_cast<std::size_t>(key * after.cols + j)] += 1;
          after.v[static_cast<std::size_t>(key * after.cols + j)] += 1;
        }
        after.attend(trial);
        for (Index i = 0; i < after.rows; ++i) {
          const auto row = static_cast<std::size_t>(i);
          const bool sees = before.ranges.begin[row] <= key && key < before.ranges.end[row];
          bool moved = after.lse[row] != before.lse[row];
          for (Index j = 0; j < after.cols; ++j) moved = moved || after.result(i, j) != before.result(i, j);
          if (moved != sees)
            throw Wrong(sign::kValues, "visibility", "key {} and its value were changed, and row {}{}", key,
                        i, sees ? ", which sees it, did not move" : ", which does not see it, moved");
        }
      }
    }},
};

const Check kInputsUnchanged{
    .claim = "Only out and lse are written.",
    .id = "inputs-unchanged",
    .weight = 1,
    .needs = {"every-key"},
    .hint = "q, k and v belong to the caller: scores and weights need memory of their own.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const AttendedHead head = AttendedHead(random, 6, 6, 4, causal_ranges(6)).attend(trial);
      constexpr const char* kArguments[] = {"q", "k", "v", "ranges"};
      for (std::size_t i = 0; i < std::size(kArguments); ++i)
        if ((head.changed >> i & 1) != 0)
          throw Wrong(sign::kInput, "argument-changed", "your function changed {}", Name{kArguments[i]});
    }},
};

// ---- for a diagnosis

const std::vector<std::string_view> kForward{"out", "lse"};

verify::Exhibit interview(Trial& trial) {
  for (const HeadCase& head : telling_heads(trial)) {
    verify::Answer answer;
    for (Buffer* result : {&answer.out, &answer.lse}) {
      *result = Buffer(result == &answer.out ? head.problem.q_extents() : head.problem.row_extents(),
                       DType::kFloat64);
      std::ranges::fill(result->values<double>(), verify::unwritten());
    }
    trial.call<DenseForward>(head.q(), head.k(), head.v(), head.ranges, head.problem.softmax_scale,
                             head_of<double>(answer.out, 0, 0), answer.lse.values<double>());
    if (verify::Exhibit wrong = exhibit_of_failure([&] { require_head(head.name, head, answer, kForward); }))
      return wrong;
  }
  return nullptr;
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneKey,      kEveryKey,        kMeanOfOnes,      kAnyScale,      kCausal,
                            kAnyRange,    kRowsWithoutAKey, kAnySize,         kExtremeScores, kLinearInValues,
                            kOrderOfKeys, kLeakProbe,       kInputsUnchanged, kTableOfBlocks, kFloats};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
