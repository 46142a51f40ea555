// Checks that all forward kernels share: shapes, masks, data, steps, banks, and the arrays between kernels.
#include "judge/checks/kernel_checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::judge {
namespace {

using verify::Data;
using verify::RoundingRule;

constexpr double kEps = std::numeric_limits<float>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void require_step(const KernelRung& rung, KernelHead head, RoundingRule& rule, std::uint64_t order = 0) {
  head.step(rung.call, {.order = order});
  head.require_attention(rule);
}

// A score by the formula, in double, and the scale of its rounding.
struct Score {
  double value = 0, scale = 0;
};
Score score(KernelHead& head, Index a, Index b) {
  const auto q = head_of<float>(head.inputs().q, 0, 0).row(a);
  const auto k = head_of<float>(head.inputs().k, 0, 0).row(b);
  Score score;
  for (std::size_t d = 0; d < q.size(); ++d) {
    score.value += double{q[d]} * k[d];
    score.scale += std::fabs(double{q[d]} * k[d]);
  }
  const double factor = static_cast<float>(head.problem().softmax_scale);
  return {factor * score.value, std::fabs(factor) * score.scale};
}

void require_number(const KernelHead& head, const std::string& what, double got, double want, double bound) {
  judge::require_near(head.name() + ": " + what, got, want, bound);
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

// The relative error that rounding of scores and sums may leave in a weight.
double share_of(const KernelHead& head, double scale) {
  return 4 * (2 + static_cast<double>(head.problem().head_dim)) * kEps * (1 + scale);
}

}  // namespace

Index score_matrix(const HeadCase& head) {
  return head.problem.batch * head.problem.heads * head.rows() * (head.keys() + 1);
}

Index no_workspace(const HeadCase&) { return 0; }

KernelHead kernel_head(const KernelRung& rung, const HeadCase& head) {
  return {head, rung.workspace(head), rung.dtype};
}

KernelHead kernel_head(const Trial& trial, const KernelRung& rung, const HeadShape& shape, const Mask& mask,
                       Data data) {
  return kernel_head(rung, make_head(trial, shape, mask, data));
}

void require_shapes(const Trial& trial, const KernelRung& rung, const std::vector<HeadShape>& shapes) {
  RoundingRule rule(verify::tensor_core_rounding(rung.dtype));
  std::uint64_t order = 0;
  for (const HeadShape& shape : shapes)
    require_step(rung, kernel_head(trial, rung, shape, full_mask()), rule, order++);
}

void require_scales(const Trial& trial, const KernelRung& rung) {
  RoundingRule rule(verify::tensor_core_rounding(rung.dtype));
  for (const double scale : {0.0, -0.7, 1.0}) {
    HeadCase head = make_head(trial, {6, 8, 4}, full_mask());
    head.problem.softmax_scale = scale;
    head.name += ", softmax_scale " + std::to_string(scale);
    require_step(rung, kernel_head(rung, head), rule);
  }
}

// A score that another step has left where a row sees no key: fmaxf skips a NaN, not this.
constexpr float kStale = 1e30f;

void require_masks(const Trial& trial, const KernelRung& rung, Index tokens) {
  Mask two_sided = window_mask(4), packed = causal_mask();
  two_sided.right = 2;
  packed.cu_seqlens = {0, 1, 6, 13, tokens};
  RoundingRule rule(verify::tensor_core_rounding(rung.dtype));
  for (const Mask& mask : {causal_mask(), window_mask(3), two_sided, packed}) {
    const HeadShape shape{tokens, tokens, 3};
    require_step(rung, kernel_head(trial, rung, shape, mask), rule);
    KernelHead stale = kernel_head(trial, rung, shape, mask);
    std::ranges::fill(stale.workspace(), kStale);
    if (stale.workspace().empty()) continue;
    const std::string name = stale.name();
    try {
      require_step(rung, std::move(stale), rule);
    } catch (const Wrong&) {
      throw Wrong(sign::kValues, "unseen-read",
                  "{} is right where the workspace begins with NaN, and wrong where it begins with {}: a "
                  "score is used that its row does not see",
                  name, kStale);
    }
  }
}

void require_blind_rows(const Trial& trial, const KernelRung& rung, Index factor) {
  constexpr std::size_t kWidth = 3;
  const Index rows = 12 * factor, keys = 8 * factor;
  const HeadShape early{rows, keys, kWidth, 0, 5 * factor}, late{rows, keys, kWidth, 4 * factor, 0},
      none{rows, keys, kWidth, 40 * factor, 0};
  for (const auto& [shape, mask] :
       {std::pair{early, causal_mask()}, {late, window_mask(3)}, {none, window_mask(7)}})
    for (const bool fresh : {true, false}) {
      KernelHead head = kernel_head(trial, rung, shape, mask);
      for (std::size_t i = 0; !fresh && i < head.max().size(); ++i) head.max()[i] = 1, head.sum()[i] = 3;
      for (std::size_t i = 0; !fresh && i < head.out().size(); ++i) head.out()[i] = static_cast<float>(i);
      const std::vector<float> out(head.out().begin(), head.out().end());
      const float max = head.max()[0], sum = head.sum()[0];
      head.step(rung.call);
      for (std::size_t a = 0; a < head.max().size(); ++a) {
        if (head.ranges().begin[a] < head.ranges().end[a]) continue;
        bool same = head.max()[a] == max && head.sum()[a] == sum;
        for (std::size_t d = kWidth * a; d < kWidth * (a + 1); ++d) same = same && head.out()[d] == out[d];
        if (!same)
          throw Wrong(sign::kValues, "unseen-touched", "{}: row {} sees no key, and its O, m or l changes",
                      head.name(), a);
      }
    }
}

void require_hot_scores(const Trial& trial, const KernelRung& rung) {
  RoundingRule rule(verify::tensor_core_rounding(rung.dtype));
  for (const Data data : verify::kAllData) {
    require_step(rung, kernel_head(trial, rung, {9, 17, 6}, full_mask(), data), rule);
    require_step(rung, kernel_head(trial, rung, {15, 15, 6}, causal_mask(), data), rule);
  }
}

void require_heads(const Trial& trial, const KernelRung& rung) {
  const auto heads = [](Index batch, Index count, Index kv_heads) {
    return HeadShape{
        .rows = 5, .keys = 7, .head_dim = 4, .batch = batch, .heads = count, .kv_heads = kv_heads};
  };
  require_shapes(trial, rung,
                 {heads(1, 3, 3), heads(3, 2, 2), heads(2, 6, 3), heads(1, 8, 2), heads(2, 4, 1)});
}

void require_state(const Trial& trial, const KernelRung& rung, Index factor) {
  RoundingRule rule(verify::tensor_core_rounding(rung.dtype));
  const auto in_order = [&](const HeadCase& whole, const std::string& label,
                            const std::vector<std::pair<Index, Index>>& parts) {
    KernelHead head = kernel_head(rung, whole);
    head.rename(head.name() + ", " + label);
    for (const auto& [first, last] : parts) head.step(rung.call, factor * first, factor * last);
    head.require_attention(rule);
  };
  for (const Data data : {Data::kPeaked, Data::kHuge}) {  // of the latter the maximum falls by thousands
    const HeadCase whole =
        make_head(trial, {10 * factor, 14 * factor, 4, 2 * factor, 0}, window_mask(9 * factor), data);
    in_order(whole, "the first half of the keys, then the second", {{0, 7}, {7, 14}});
    in_order(whole, "the second half of the keys, then the first", {{7, 14}, {0, 7}});
    in_order(whole, "keys in three parts", {{9, 10}, {0, 9}, {10, 14}});
  }
}

verify::Exhibit three_steps(const Trial& trial, const KernelRung& rung) {
  RoundingRule rule(verify::tensor_core_rounding(rung.dtype));
  const HeadCase whole = make_head(trial, {20, 28, 16}, full_mask());
  KernelHead head = kernel_head(rung, whole);
  for (const auto& [first, last] : {std::pair<Index, Index>{0, 9}, {9, 19}, {19, whole.keys()}})
    head.step(rung.call, first, last);
  return exhibit_of_failure([&] { head.require_attention(rule); });
}

namespace {

std::vector<double> doubles(std::span<const float> numbers) { return {numbers.begin(), numbers.end()}; }

verify::StepExhibit::Memory memory_of(KernelHead& head) {
  const auto cut = head.workspace().begin() + head.rows() * head.keys();
  return {doubles({head.workspace().begin(), cut}), doubles({cut, cut + head.rows()}), doubles(head.max()),
          doubles(head.sum()), doubles(head.out())};
}

// Rows that have seen keys: in every second one the maximum no longer grows.
void begin_with_a_state(KernelHead& head) {
  for (std::size_t a = 0; a < head.max().size(); ++a) {
    head.max()[a] = a % 2 == 0 ? 4 + 0.1f * static_cast<float>(a) : -0.5f + 0.01f * static_cast<float>(a);
    head.sum()[a] = 1.5f + 0.03f * static_cast<float>(a);
  }
  for (std::size_t i = 0; i < head.out().size(); ++i)
    head.out()[i] = 0.01f * static_cast<float>((37 * i) % 101) - 0.4f;
}

}  // namespace

verify::Exhibit one_by_one(const Trial& trial, const KernelRung& rung) {
  const HeadCase whole = make_head(trial, {35, 110, 125, 75, 0}, window_mask(85));
  KernelHead start = kernel_head(rung, whole);
  verify::StepExhibit stages{.rows = start.rows(),
                             .keys = start.keys(),
                             .width = whole.head_dim(),
                             .scale = static_cast<float>(whole.problem.softmax_scale)};
  stages.begin.assign(whole.ranges.begin.begin(), whole.ranges.begin.end());
  stages.end.assign(whole.ranges.end.begin(), whole.ranges.end.end());
  stages.q = doubles(start.inputs().q.values<float>());
  stages.k = doubles(start.inputs().k.values<float>());
  stages.v = doubles(start.inputs().v.values<float>());
  begin_with_a_state(start);
  stages.after.push_back(memory_of(start));
  for (const int launches : {1, 2, 3}) {
    KernelHead head = kernel_head(rung, whole);
    begin_with_a_state(head);
    head.step(rung.call, {.launches = launches});
    stages.after.push_back(memory_of(head));
  }
  if (!verify::causes_of(stages).empty()) return exhibit_of(std::move(stages));
  return three_steps(trial, rung);
}

void require_table(const Trial& trial, const KernelRung& rung, std::size_t stride) {
  RoundingRule rule(verify::tensor_core_rounding(rung.dtype));
  std::vector<verify::BlockCase> cases = verify::block_case_table(verify::CaseSet::kBrief);
  for (std::size_t i = 0; i < cases.size(); i += stride) {
    cases[i].seed += trial.seed();
    require_step(rung, kernel_head(rung, make_head(cases[i])), rule, i);
  }
  require_rule(rule);
}

namespace {

constexpr std::uint64_t kBanks = 32;
// One in this many passes may serve only a few lanes.
constexpr std::uint64_t kMostOfFew = 8;

}  // namespace

void require_fewest_passes(const std::string& label, const std::vector<MovedByLine>& moved,
                           const std::string& what) {
  for (const MovedByLine& line : moved)
    if (line.shared && line.transfers > line.least_transfers)
      throw Wrong(sign::kCounts, "bank-conflicts",
                  "{}{} {} shared memory in {} passes, and {} would do: {} meet in one bank", label,
                  line.place, line.writes ? "writes" : "reads", line.transfers, line.least_transfers, what)
          .knowing({line.writes});
  // Lanes that run one by one cause no bank conflict.
  std::uint64_t passes = 0, of_few = 0;
  for (const MovedByLine& line : moved)
    if (line.shared) {
      passes += line.transfers;
      if (line.words < kBanks / 2 * line.transfers) of_few += line.transfers;
    }
  if (of_few > passes / kMostOfFew)
    throw Wrong(sign::kCounts, "half-empty-passes",
                "{}{} of the {} passes over shared memory serve less than half of a warp: its lanes take "
                "different branches, one after the other",
                label, of_few, passes);
}

void require_scores(KernelHead& head) {
  for (Index a = 0; a < head.rows(); ++a)
    for_visible(head, a, [&](Index b) {
      const Score want = score(head, a, b);
      require_number(head, at("S", a, b), number_at(head.workspace(), a * head.keys() + b), want.value,
                     share_of(head, 0) * want.scale);
    });
}

void require_unseen_scores_untouched(KernelHead& head) {
  for (Index a = 0; a < head.rows(); ++a)
    for (Index b = 0; b < head.keys(); ++b) {
      const auto row = static_cast<std::size_t>(a);
      if (head.ranges().begin[row] <= b && b < head.ranges().end[row]) continue;
      if (!std::isnan(number_at(head.workspace(), a * head.keys() + b)))  // its initial value
        throw Wrong(sign::kCounts, "unseen-touched",
                    "{}: S of row {}, key {} is written, and the row does not see the key", head.name(), a,
                    b);
    }
}

namespace {

// The second kernel's input and output for the visible scores of all rows.
verify::ScanExhibit exhibit_of_weights(KernelHead& head) {
  verify::ScanExhibit scans{.normalized = false, .precision = DType::kFloat32};
  for (Index a = 0; a < head.rows(); ++a) {
    verify::ScoreScan row;
    for_visible(head, a, [&](Index b) {
      row.scores.push_back(score(head, a, b).value);
      row.weights.push_back(number_at(head.workspace(), a * head.keys() + b));
    });
    row.state = std::pair{number_at(head.max(), a), number_at(head.sum(), a)};
    if (!row.scores.empty()) scans.rows.push_back(std::move(row));
  }
  return scans;
}

void require_right_weights(KernelHead& head) {
  for (Index a = 0; a < head.rows(); ++a) {
    double largest = -kInfinity, scale = 0, sum = 0;
    for_visible(head, a, [&](Index b) {
      largest = std::fmax(largest, score(head, a, b).value);
      scale = std::fmax(scale, score(head, a, b).scale);
    });
    if (largest == -kInfinity) continue;
    const std::string row = " of row " + std::to_string(a);
    const double share = share_of(head, scale);
    require_number(head, "m" + row, number_at(head.max(), a), largest, share);
    for_visible(head, a, [&](Index b) {
      const double want = std::exp(score(head, a, b).value - largest);
      sum += want;
      require_number(head, at("P", a, b), number_at(head.workspace(), a * head.keys() + b), want,
                     share * want);
    });
    require_number(head, "l" + row, number_at(head.sum(), a), sum, share * sum);
    require_number(head, "the factor of the old O" + row,
                   number_at(head.workspace(), head.rows() * head.keys() + a), 0, 0);
  }
}

}  // namespace

void require_weights(KernelHead& head) {
  exhibiting([&] { return exhibit_of_weights(head); }, [&] { require_right_weights(head); });
}

void require_single_scores(KernelHead& head) {
  for (Index a = 0; a < head.rows(); ++a) {
    const Index b = head.ranges().begin[static_cast<std::size_t>(a)];
    const Score want = score(head, a, b);
    require_number(head, at("the score", a, b), number_at(head.max(), a), want.value,
                   share_of(head, 0) * want.scale);
    require_number(head, "l of row " + std::to_string(a) + ", which sees one key,", number_at(head.sum(), a),
                   1, 0);
  }
}

}  // namespace ringcraft::judge
