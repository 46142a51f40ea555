// Lesson 201: what three naive kernels must do. One launch is one step of a ring: it finds (O, m, l) and
// leaves them with a block's keys added. The kernels run on the CPU, one fiber per thread, and every launch
// is checked. Between the kernels the score matrix is looked at: S after the first, P after the second; what
// the whole step leaves is compared with the oracle under the rule for float32.
#include <cmath>
#include <limits>

#include "judge/kernel_trial.hpp"
#include "judge/lesson.hpp"

namespace ringcraft::judge {
namespace {

using verify::Data;
using verify::FloatRule;

constexpr double kEps = std::numeric_limits<float>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

KernelCall naive(Trial& trial) {
  return [&trial](const KernelStep& step) { return trial.call<NaiveKernels>(step).result; };
}

// S and a factor per row, of all heads.
KernelHead with_matrix(const Head& head) {
  const Index rows = head.problem.batch * head.problem.heads * head.rows();
  return {head, rows * (head.keys() + 1)};
}

KernelHead make(const Trial& trial, const HeadShape& shape, const Mask& mask, Data data = Data::kNormal) {
  return with_matrix(make_head(trial, shape, mask, data));
}

void require_step(Trial& trial, KernelHead head, FloatRule& rule) {
  head.step(naive(trial));
  head.require_attention(rule);
}

// ---- what stands between the kernels, of a single head

// A score as the formula says, in double, and what its rounding is measured by.
struct Score {
  double value = 0, scale = 0;
};
Score score(KernelHead& head, Index a, Index b) {
  const auto q = head_of<float>(head.inputs().q, 0, 0).row(a),
             k = head_of<float>(head.inputs().k, 0, 0).row(b);
  Score score;
  for (std::size_t d = 0; d < q.size(); ++d) {
    score.value += double{q[d]} * k[d];
    score.scale += std::fabs(double{q[d]} * k[d]);
  }
  const double factor = static_cast<float>(head.problem().softmax_scale);
  return {factor * score.value, std::fabs(factor) * score.scale};
}

std::string in_words(double x) { return std::isnan(x) ? "NaN" : std::to_string(x); }

void require_near(const KernelHead& head, const std::string& what, double got, double want, double bound) {
  if (!(std::fabs(got - want) <= bound + 1e-30))
    throw Wrong(std::isfinite(got) ? sign::kValues : sign::kNoNumber,
                head.name() + ": " + what + " is " + in_words(got) + ", and must be " + in_words(want));
}

std::string at(const std::string& name, Index a, Index b) {
  return name + " of row " + std::to_string(a) + ", key " + std::to_string(b);
}

double number_at(std::span<float> numbers, Index i) { return numbers[static_cast<std::size_t>(i)]; }

template <class Look>
void for_visible(KernelHead& head, Index a, Look look) {
  const auto row = static_cast<std::size_t>(a);
  for (Index b = head.ranges().begin[row]; b < head.ranges().end[row]; ++b) look(b);
}

void require_scores(KernelHead& head) {
  for (Index a = 0; a < head.rows(); ++a)
    for_visible(head, a, [&](Index b) {
      const Score want = score(head, a, b);
      require_near(head, at("S", a, b), number_at(head.workspace(), a * head.keys() + b), want.value,
                   (2 + static_cast<double>(head.problem().head_dim)) * kEps * want.scale);
    });
}

// P, m, l and the factor of the rows that see a key, from (-inf, 0).
void require_weights(KernelHead& head) {
  for (Index a = 0; a < head.rows(); ++a) {
    double largest = -kInfinity, scale = 0, sum = 0;
    for_visible(head, a, [&](Index b) {
      largest = std::fmax(largest, score(head, a, b).value);
      scale = std::fmax(scale, score(head, a, b).scale);
    });
    if (largest == -kInfinity) continue;
    const std::string row = " of row " + std::to_string(a);
    const double share = 4 * (2 + static_cast<double>(head.problem().head_dim)) * kEps * (1 + scale);
    require_near(head, "m" + row, number_at(head.max(), a), largest, share);
    for_visible(head, a, [&](Index b) {
      const double want = std::exp(score(head, a, b).value - largest);
      sum += want;
      require_near(head, at("P", a, b), number_at(head.workspace(), a * head.keys() + b), want, share * want);
    });
    require_near(head, "l" + row, number_at(head.sum(), a), sum, share * sum);
    require_near(head, "the factor of the old O" + row,
                 number_at(head.workspace(), head.rows() * head.keys() + a), 0, 0);
  }
}

// ---- the checks

void scores(Trial& trial) {
  for (const HeadShape& shape : {HeadShape{6, 9, 4}, HeadShape{9, 6, 3}}) {
    KernelHead head = make(trial, shape, full_mask());
    head.step(naive(trial), {.launches = 1});
    require_scores(head);
  }
}

void weights(Trial& trial) {
  for (const HeadShape& shape : {HeadShape{6, 9, 4}, HeadShape{9, 6, 3}}) {
    KernelHead head = make(trial, shape, full_mask());
    head.step(naive(trial), {.launches = 2});
    require_weights(head);
  }
}

void values(Trial& trial) {
  FloatRule rule(DType::kFloat32);
  for (const HeadShape& shape : {HeadShape{6, 9, 4}, HeadShape{9, 6, 3}})
    require_step(trial, make(trial, shape, full_mask()), rule);
  require_rule(rule);
  KernelHead head = make(trial, {32, 40, 32}, full_mask());
  const KernelRun counted = head.step(naive(trial), {.count_traffic = true});
  double sectors = 0, requests = 0;
  for (const MovedByLine& line : counted.moved)
    if (!line.shared && !line.writes) {
      sectors += static_cast<double>(line.transfers);
      requests += static_cast<double>(line.requests);
    }
  if (requests > 0) trial.note({"sectors per read of values", sectors / requests, {}, ""});
}

// Numbers of one kernel that fill thread blocks of 256 exactly, lack one, and have one too many.
void any_size(Trial& trial) {
  FloatRule rule(DType::kFloat32);
  for (const HeadShape& shape :
       {HeadShape{1, 1, 1}, {16, 16, 16}, {17, 15, 1}, {1, 257, 2}, {257, 1, 1}, {5, 3, 128}, {3, 86, 1}})
    require_step(trial, make(trial, shape, full_mask()), rule);
  for (const double scale : {0.0, -0.7, 1.0}) {
    Head head = make_head(trial, {6, 8, 4}, full_mask());
    head.problem.softmax_scale = scale;
    head.name += ", softmax_scale " + std::to_string(scale);
    require_step(trial, with_matrix(head), rule);
  }
  require_rule(rule);
}

void masks(Trial& trial) {
  Mask two_sided = window_mask(4), packed = causal_mask();
  two_sided.right = 2;
  packed.cu_seqlens = {0, 1, 6, 13, 17};
  FloatRule rule(DType::kFloat32);
  for (const Mask& mask : {causal_mask(), window_mask(3), two_sided, packed})
    require_step(trial, make(trial, {17, 17, 3}, mask), rule);
  require_rule(rule);
}

// Rows that see no key of the block: m, l and O keep their bits, whatever they were.
void blind_rows(Trial& trial) {
  const HeadShape early{12, 8, 3, 0, 5}, late{12, 8, 3, 4, 0}, none{6, 5, 3, 40, 0};
  for (const auto& [shape, mask] :
       {std::pair{early, causal_mask()}, {late, window_mask(3)}, {none, window_mask(7)}})
    for (const bool fresh : {true, false}) {
      KernelHead head = make(trial, shape, mask);
      for (std::size_t i = 0; !fresh && i < head.max().size(); ++i) head.max()[i] = 1, head.sum()[i] = 3;
      for (std::size_t i = 0; !fresh && i < head.out().size(); ++i) head.out()[i] = static_cast<float>(i);
      const std::vector<float> out(head.out().begin(), head.out().end());
      const float max = head.max()[0], sum = head.sum()[0];
      head.step(naive(trial));
      for (std::size_t a = 0; a < head.max().size(); ++a) {
        if (head.ranges().begin[a] < head.ranges().end[a]) continue;
        bool same = head.max()[a] == max && head.sum()[a] == sum;
        for (std::size_t d = 3 * a; d < 3 * a + 3; ++d) same = same && head.out()[d] == out[d];
        if (!same)
          throw Wrong(head.name() + ": row " + std::to_string(a) + " sees no key, and its O, m or l changes");
      }
    }
}

void hot_scores(Trial& trial) {
  FloatRule rule(DType::kFloat32);
  for (const Data data : verify::kAllData) {
    require_step(trial, make(trial, {9, 17, 6}, full_mask(), data), rule);
    require_step(trial, make(trial, {15, 15, 6}, causal_mask(), data), rule);
  }
}

void heads_and_batch(Trial& trial) {
  FloatRule rule(DType::kFloat32);
  for (const HeadShape& shape : {HeadShape{5, 7, 4, 0, 0, 1, 3, 3},
                                 HeadShape{5, 7, 4, 0, 0, 3, 2, 2},
                                 {5, 7, 4, 0, 0, 2, 6, 3},
                                 {5, 7, 4, 0, 0, 1, 8, 2},
                                 {5, 7, 4, 0, 0, 2, 4, 1}})
    require_step(trial, make(trial, shape, full_mask()), rule);
  require_rule(rule);
}

void adds_to_the_state(Trial& trial) {
  FloatRule rule(DType::kFloat32);
  const Head whole = make_head(trial, {10, 14, 4, 2, 0}, window_mask(9), Data::kPeaked);
  const auto in_order = [&](const std::string& label, const std::vector<std::pair<Index, Index>>& parts) {
    KernelHead head = with_matrix(whole);
    head.rename(head.name() + ", " + label);
    for (const auto& [first, last] : parts) head.step(naive(trial), first, last);
    head.require_attention(rule);
  };
  in_order("keys 0 to 6, then 7 to 13", {{0, 7}, {7, 14}});
  in_order("keys 7 to 13, then 0 to 6", {{7, 14}, {0, 7}});
  in_order("keys in parts of 1, 9 and 4", {{9, 10}, {0, 9}, {10, 14}});
}

// The same bits, whatever the order in which threads take their turns.
void any_order(Trial& trial) {
  const Head input = make_head(trial, {19, 23, 5}, causal_mask());
  KernelHead first = with_matrix(input);
  first.step(naive(trial));
  for (const std::uint64_t order : {1, 2, 3}) {
    KernelHead other = with_matrix(input);
    other.step(naive(trial), {.order = order});
    if (!std::ranges::equal(first.out(), other.out()) || !std::ranges::equal(first.sum(), other.sum()) ||
        !std::ranges::equal(first.max(), other.max()))
      throw Wrong(first.name() + ": another order of the threads gives another result");
  }
}

void case_table(Trial& trial) {
  FloatRule rule(DType::kFloat32);
  std::vector<verify::BlockCase> cases = verify::block_case_table(verify::CaseSet::kBrief);
  for (std::size_t i = 0; i < cases.size(); i += 5) {
    cases[i].seed += trial.seed();
    require_step(trial, with_matrix(make_head(cases[i])), rule);
  }
  require_rule(rule);
}

}  // namespace

Lesson lesson_201() {
  return {
      .number = 201,
      .name = "201_naive_kernel",
      .title = "A naive kernel",
      .source = "kernels/forward/01_naive.cu",
      .function = "scores, softmax and values",
      .allowed = {"ringcraft::simt::sync_threads", "ringcraft::simt::warp_operation",
                  "ringcraft::simt::this_lane"},  // barriers and shuffles
      .checks = {
          {"scores",
           3,
           {},
           "The first kernel leaves softmax_scale * q . k in S, for every pair that is visible.",
           "One thread, one score: which row a and which key b belong to number i, when S has `keys` "
           "columns?",
           scores},
          {"weights",
           3,
           {"scores"},
           "The second turns each row of S into weights, in place, and leaves m, l and the factor of the old "
           "O.",
           "Three loops over one row, as in lesson 102: maximum, exponentials, sum; the maximum begins at "
           "the "
           "old m.",
           weights},
          {"values",
           3,
           {"weights"},
           "The third adds P v to what is left of O.",
           "One thread, one number of O: a row a and a column d. What is the old O multiplied by?",
           values},
          {"any-size",
           2,
           {"values"},
           "Any number of rows, keys and columns, 1 and 257 included, and any softmax_scale.",
           "The last thread block has threads without a number. Which is the first i that does not exist, in "
           "each of the kernels?",
           any_size},
          {"masks",
           2,
           {"values"},
           "Causal, windowed, two-sided and packed masks.",
           "Row a sees the keys begin[a] <= b < end[a]. What lies outside of them is neither written nor "
           "read.",
           masks},
          {"blind-rows",
           2,
           {"values"},
           "A row that sees no key of the block keeps O, m and l to the bit.",
           "If begin[a] is not below end[a] there is nothing to do for that row: in which of the kernels?",
           blind_rows},
          {"hot-scores",
           2,
           {"values"},
           "Scores of hundreds and of +-20000 neither overflow nor vanish.",
           "No exponent is positive when every row subtracts its own maximum, the old m included.",
           hot_scores},
          {"heads-and-batch",
           2,
           {"values"},
           "Many heads, many batch entries, and query heads that share a KV head.",
           "Each array has its own number of heads. Which of rows_of_this_head, rows_for_this_head and "
           "this_head() belongs to which?",
           heads_and_batch},
          {"adds-to-the-state",
           2,
           {"values"},
           "Keys that come in several steps, in any order, give what one step gives.",
           "The state that you find may have seen other keys: l and O are rescaled by the same factor.",
           adds_to_the_state},
          {"any-order",
           1,
           {"values"},
           "The threads may take their turns in any order.",
           "Does a thread read what another thread of the same kernel writes?",
           any_order},
          {"case-table",
           2,
           {"masks", "blind-rows", "heads-and-batch"},
           "Blocks of the harness's table: shards against foreign blocks, every mask, layout and kind of "
           "data.",
           "Look at the case's name: which of its words do your kernels not handle?",
           case_table},
      }};
}

}  // namespace ringcraft::judge
