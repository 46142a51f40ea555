// Runs backward steps of kernels, and compares the gradients with the oracle's or with earlier ones.
#include "judge/checks/gradient_trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/checks/row_trial.hpp"
#include "verify/oracle/plain_dense.hpp"

namespace ringcraft::judge {
namespace {

constexpr std::string_view kGradientNames[] = {"dq", "dk", "dv"};

// In the form that the kernels get: softmax_scale in float32.
verify::BlockProblem with_float_scale(verify::BlockProblem problem) {
  problem.softmax_scale = static_cast<float>(problem.softmax_scale);
  return problem;
}

// rowsum(out * dout)
std::vector<float> delta_of(const Buffer& output, const Buffer& gradient) {
  const auto out = output.values<float>(), dout = gradient.values<float>();
  const auto width = static_cast<std::size_t>(output.extents().width);
  std::vector<float> all;
  for (std::size_t row = 0; row < out.size(); row += width) {
    double delta = 0;
    for (std::size_t d = row; d < row + width; ++d) delta += double{out[d]} * dout[d];
    all.push_back(static_cast<float>(delta));
  }
  return all;
}

// A kernel must not use the numbers of a row that sees none of these keys.
void poison(std::vector<float>& lse, std::vector<float>& delta, const KeyRanges& ranges) {
  const std::size_t rows = ranges.begin.size();
  for (std::size_t row = 0; row < lse.size(); ++row) {
    const std::size_t a = row % rows;
    if (ranges.begin[a] < ranges.end[a]) continue;
    constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
    lse[row] = a % 2 == 0 ? kNoNumber : -std::numeric_limits<float>::infinity();
    delta[row] = a % 2 == 0 ? kNoNumber : 0;
  }
}

}  // namespace

GradientHead::GradientHead(const HeadCase& head)
    : name_(head.name),
      problem_(with_float_scale(head.problem)),
      ranges_(head.ranges),
      in_(verify::converted(head.in, DType::kFloat32)),
      dense_(verify::plain_dense<float>(problem_, in_)),
      delta_(delta_of(dense_.out, in_.dout)) {
  gradients_[kDq].resize(static_cast<std::size_t>(problem_.q_extents().elements()));
  gradients_[kDk].resize(static_cast<std::size_t>(problem_.kv_extents().elements()));
  gradients_[kDv].resize(static_cast<std::size_t>(problem_.kv_extents().elements()));
}

KernelRun GradientHead::step(const GradientCall& call, HowRun how) { return step(call, 0, keys(), how); }

KernelRun GradientHead::step(const GradientCall& call, Index first, Index last, HowRun how) {
  const bool whole = first == 0 && last == keys();  // else of a single head
  const auto part = [&](std::span<float> all) {
    return whole ? all : rows_between(all, first, last, problem_.head_dim);
  };
  KeyRanges by_row = part_of(ranges_, first, last);
  KeyRanges by_key = by_row.transposed(static_cast<int>(last - first));
  const auto dense_lse = dense_.lse.values<float>();
  std::vector<float> lse(dense_lse.begin(), dense_lse.end()), delta = delta_;
  poison(lse, delta, by_row);
  const GradientStep step{.q = in_.q.values<float>(),
                          .dout = in_.dout.values<float>(),
                          .k = part(in_.k.values<float>()),
                          .v = part(in_.v.values<float>()),
                          .lse = lse,
                          .delta = delta,
                          .key_begin = by_row.begin,
                          .key_end = by_row.end,
                          .row_begin = by_key.begin,
                          .row_end = by_key.end,
                          .dq = gradients_[kDq],
                          .dk = part(gradients_[kDk]),
                          .dv = part(gradients_[kDv]),
                          .batch = static_cast<int>(problem_.batch),
                          .heads = static_cast<int>(problem_.heads),
                          .kv_heads = static_cast<int>(problem_.kv_heads),
                          .rows = static_cast<int>(rows()),
                          .keys = static_cast<int>(last - first),
                          .head_dim = static_cast<int>(problem_.head_dim),
                          .softmax_scale = static_cast<float>(problem_.softmax_scale),
                          .order = how.order,
                          .launches = how.launches,
                          .count_traffic = how.count_traffic};
  const Kept<float> floats[] = {{"q", step.q}, {"dout", step.dout}, {"k", step.k},
                                {"v", step.v}, {"lse", step.lse},   {"delta", step.delta}};
  const Kept<int> ints[] = {{"key_begin", step.key_begin},
                            {"key_end", step.key_end},
                            {"row_begin", step.row_begin},
                            {"row_end", step.row_end}};
  KernelRun answer = without_finding(name_, with_label(name_ + ": ", [&] { return call(step); }));
  for (const auto& kept : floats) kept.require_same();
  for (const auto& kept : ints) kept.require_same();
  return answer;
}

verify::Answer GradientHead::answer(const std::vector<std::string_view>& only) const {
  verify::Answer got = verify::clone(dense_);
  for (const auto& [name, tensor] : verify::named(got)) {
    if (!only.empty() && std::ranges::find(only, name) == only.end()) continue;
    const auto gradient = std::ranges::find(kGradientNames, name);
    if (gradient != std::end(kGradientNames))
      std::ranges::copy(gradients_[gradient - kGradientNames], tensor.values<float>().begin());
  }
  return got;
}

verify::Oracle GradientHead::right() const {
  return verify::oracle(problem_, in_, {.rounding = verify::tensor_core_rounding(DType::kFloat32)});
}

verify::AttentionExhibit GradientHead::exhibit(verify::Answer got,
                                               const verify::Comparison& comparison) const {
  return {problem_,
          verify::one_block(problem_),
          {},
          verify::clone(in_),
          std::move(got),
          comparison,
          verify::tensor_core_rounding(DType::kFloat32),
          DType::kFloat32};
}

verify::AttentionExhibit GradientHead::exhibit(verify::RoundingRule& rule) const {
  verify::Answer got = answer({});
  const verify::Comparison comparison = rule.add(got, right());
  return exhibit(std::move(got), comparison);
}

void GradientHead::require_gradients(verify::RoundingRule& rule,
                                     const std::vector<std::string_view>& only) const {
  verify::Answer got = answer(only);
  const verify::Oracle want = right();
  const verify::Comparison comparison = rule.add(got, want);
  exhibiting([&] { return exhibit(std::move(got), comparison); },
             [&] { require_comparison(name_, comparison, want, only); });
}

std::vector<std::vector<float>> GradientHead::begin_with(Random& random) {
  for (std::vector<float>& gradient : gradients_)
    for (float& x : gradient) x = static_cast<float>(4 + random.normal());
  return {gradients_[kDq], gradients_[kDk], gradients_[kDv]};
}

void GradientHead::require_grown(const std::vector<std::vector<float>>& before,
                                 const GradientHead& from_zero) const {
  constexpr double kRoundings = 4 * double{std::numeric_limits<float>::epsilon()};
  for (const Gradient g : {kDq, kDk, kDv})
    for (std::size_t i = 0; i < gradients_[g].size(); ++i) {
      const double start = before[g][i], gradient = from_zero.gradients_[g][i];
      require_near(name_ + ": " + place_of(g, i) + " held " + text_of(start) + " and its gradient is " +
                       text_of(gradient) + ": it",
                   gradients_[g][i], start + gradient, kRoundings * (std::fabs(start) + std::fabs(gradient)));
    }
}

void GradientHead::require_same_bits(const GradientHead& other, const std::string& label) const {
  for (const Gradient g : {kDq, kDk, kDv})
    for (std::size_t i = 0; i < gradients_[g].size(); ++i)
      if (gradients_[g][i] != other.gradients_[g][i])
        throw Wrong(sign_of(gradients_[g][i]), "other-bits",
                    "{}, {}: {} is {}, and was {}: its sum depends on who comes first", name_, label,
                    place_of(g, i), text_of(gradients_[g][i]), text_of(other.gradients_[g][i]))
            .knowing({Name{std::string(kGradientNames[g])}});
}

void GradientHead::require_unseen_untouched(const std::vector<std::vector<float>>& before) const {
  const KeyRanges by_key = ranges_.transposed(static_cast<int>(keys()));
  for (const Gradient g : {kDq, kDk, kDv})
    for (std::size_t i = 0; i < gradients_[g].size(); ++i)
      if (!is_seen(g == kDq ? ranges_ : by_key, i) && gradients_[g][i] != before[g][i])
        throw Wrong(sign_of(gradients_[g][i]), "unseen-touched", "{}: {} was {} and becomes {}, though {}",
                    name_, place_of(g, i), digits_of(before[g][i]), digits_of(gradients_[g][i]),
                    g == kDq ? "the row sees no key" : "no row sees the key");
}

std::string GradientHead::place_of(Gradient gradient, std::size_t i) const {
  const bool of_keys = gradient != kDq;
  const auto width = static_cast<std::size_t>(problem_.head_dim);
  const auto rows_of_head = static_cast<std::size_t>(of_keys ? keys() : rows());
  std::string text = std::string(kGradientNames[gradient]) + " of ";
  if (problem_.batch * problem_.heads > 1)
    text += std::string(of_keys ? "KV head " : "head ") + std::to_string(i / width / rows_of_head) +
            " of all batch entries, ";
  return text + (of_keys ? "key " : "row ") + std::to_string(i / width % rows_of_head) + ", column " +
         std::to_string(i % width);
}

bool GradientHead::is_seen(const KeyRanges& ranges, std::size_t i) const {
  const std::size_t row = i / static_cast<std::size_t>(problem_.head_dim) % ranges.begin.size();
  return ranges.begin[row] < ranges.end[row];
}

}  // namespace ringcraft::judge
