// Steps for kernels (see kernel_trial.hpp).
#include "judge/kernel_trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/plain_dense.hpp"

namespace ringcraft::judge {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kShownFinding = 1500;  // bytes of a student's program's words

std::vector<float> filled(Index count, float with) {
  return std::vector<float>(static_cast<std::size_t>(count), with);
}

}  // namespace

KernelHead::KernelHead(const Head& head, Index workspace)
    : name_(head.name), problem_(head.problem), ranges_(head.ranges) {
  verify::Inputs forward{head.in.q.clone(), head.in.k.clone(), head.in.v.clone(), Buffer()};
  in_ = verify::converted(forward, DType::kFloat32);
  const Index all_rows = in_.q.extents().batch * in_.q.extents().heads * rows();
  out_ = filled(all_rows * problem_.head_dim, 0);
  max_ = filled(all_rows, -std::numeric_limits<float>::infinity());
  sum_ = filled(all_rows, 0);
  workspace_ = filled(workspace, kNaN);
}

KernelRun KernelHead::step(const KernelCall& call, HowRun how) {
  return run(call,
             {.k = in_.k.values<float>(),
              .v = in_.v.values<float>(),
              .begin = ranges_.begin,
              .end = ranges_.end,
              .keys = static_cast<int>(keys())},
             how);
}

KernelRun KernelHead::step(const KernelCall& call, Index first, Index last, HowRun how) {
  KeyRanges part = part_of(ranges_, first, last);
  const auto rows_of = [&](Buffer& kv) {
    return kv.values<float>().subspan(static_cast<std::size_t>(first * problem_.head_dim),
                                      static_cast<std::size_t>((last - first) * problem_.head_dim));
  };
  return run(call,
             {.k = rows_of(in_.k),
              .v = rows_of(in_.v),
              .begin = part.begin,
              .end = part.end,
              .keys = static_cast<int>(last - first)},
             how);
}

KernelRun KernelHead::run(const KernelCall& call, KernelStep step, const HowRun& how) {
  step.q = in_.q.values<float>();
  step.out = out_;
  step.max = max_;
  step.sum = sum_;
  step.workspace = workspace_;
  step.batch = static_cast<int>(problem_.batch);
  step.heads = static_cast<int>(problem_.heads);
  step.kv_heads = static_cast<int>(problem_.kv_heads);
  step.rows = static_cast<int>(rows());
  step.head_dim = static_cast<int>(problem_.head_dim);
  step.softmax_scale = static_cast<float>(problem_.softmax_scale);
  step.order = how.order;
  step.launches = how.launches;
  step.count_traffic = how.count_traffic;
  const Kept<float> floats[] = {{"q", step.q}, {"k", step.k}, {"v", step.v}};
  const Kept<int> ints[] = {{"begin", step.begin}, {"end", step.end}};
  KernelRun answer = call(step);
  require_no_finding(name_, answer);
  for (const auto& kept : floats) kept.require_same();
  for (const auto& kept : ints) kept.require_same();
  return answer;
}

void KernelHead::require_attention(verify::FloatRule& rule) const {
  verify::BlockProblem problem = problem_;
  problem.softmax_scale = static_cast<float>(problem.softmax_scale);  // what the kernels have got
  verify::Answer got;
  got.out = Buffer(problem.q_extents(), DType::kFloat32);
  got.lse = Buffer(problem.row_extents(), DType::kFloat32);
  const auto width = static_cast<std::size_t>(problem.head_dim);
  for (std::size_t row = 0; row < max_.size(); ++row) {
    const float l = sum_[row];
    for (std::size_t d = row * width; d < (row + 1) * width; ++d)
      got.out.values<float>()[d] = l == 0 ? out_[d] : out_[d] / l;
    got.lse.values<float>()[row] = l == 0 ? max_[row] : max_[row] + std::log(l);
  }
  const verify::Oracle want = verify::oracle(problem, in_);
  require_comparison(name_, rule.add(got, verify::plain_dense<float>(problem, in_), want), want);
}

void require_no_finding(const std::string& name, const KernelRun& run) {
  if (!run.finding.empty()) throw Wrong(sign::kFinding, name + ": " + cleaned(run.finding, kShownFinding));
}

void require_near(const std::string& what, double got, double want, double bound) {
  if (got == want || std::fabs(got - want) <= bound + 1e-30) return;
  throw Wrong(std::isnan(got) || (std::isinf(got) && !std::isinf(want)) ? sign::kNoNumber : sign::kValues,
              what + " is " + (std::isnan(got) ? "NaN" : std::to_string(got)) + ", and must be " +
                  std::to_string(want));
}

void require_rule(const verify::FloatRule& rule) {
  if (rule.good()) return;
  throw Wrong("each number is near enough, but together the errors are " +
              std::to_string(rule.worst_rms_ratio()) +
              " times as large as those of plain loops in float32; 1.5 times is allowed");
}

}  // namespace ringcraft::judge
