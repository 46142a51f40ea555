// Runs steps of forward kernels, and compares the state with the oracle's attention under the rule for
// floats.
#include "judge/checks/kernel_trial.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "judge/outcome/comparison.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> filled(Index count, float with) {
  return std::vector<float>(static_cast<std::size_t>(count), with);
}

std::vector<Index> keys_between(Index first, Index last) {
  std::vector<Index> keys(static_cast<std::size_t>(last - first));
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

// The first number of a tensor that is further from the oracle's than its bound.
void require_within(const std::string& name, const std::string& tensor, const Buffer& got, const Buffer& want,
                    const std::vector<double>& bound) {
  const auto numbers = got.values<float>();
  const auto wanted = want.values<double>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == wanted[i] || std::fabs(numbers[i] - wanted[i]) <= bound[i]) continue;
    const auto width = static_cast<std::size_t>(got.extents().width);
    throw Wrong(
        sign_of(numbers[i]), "bf16-rounding",
        "{}: {} of row {}, column {} is {}, and must be {}: further than rounding P to bf16, and nothing "
        "else, may move it",
        name, Name{tensor}, i / width % static_cast<std::size_t>(got.extents().rows), i % width, numbers[i],
        wanted[i]);
  }
}

// With P rounded to bf16 and everything else in float32, an element of out moves by at most 2^-8 of the sum
// of its terms without their signs, and lse not at all, beside the rounding of float32.
void require_only_weights_rounded(const std::string& name, const verify::BlockProblem& problem,
                                  const verify::Inputs& in, const verify::Answer& got,
                                  const verify::Oracle& want) {
  constexpr double kRounding = 0x1p-8, kFloat = 32.0 * std::numeric_limits<float>::epsilon();
  verify::Inputs absolute{in.q.clone(), in.k.clone(), in.v.clone(), Buffer()};
  for (float& x : absolute.v.values<float>()) x = std::fabs(x);
  const verify::Oracle terms = verify::oracle(problem, absolute);
  std::vector<double> of_out, of_lse;
  for (std::size_t i = 0; i < terms.value.out.values<double>().size(); ++i)
    of_out.push_back(kRounding * terms.value.out.values<double>()[i] +
                     kFloat * want.scale.out.values<double>()[i]);
  for (const double scale : want.scale.lse.values<double>()) of_lse.push_back(kFloat * scale);
  require_within(name, "lse", got.lse, want.value.lse, of_lse);
  require_within(name, "out", got.out, want.value.out, of_out);
}

}  // namespace

KernelHead::KernelHead(const HeadCase& head, Index workspace, DType dtype)
    : name_(head.name), dtype_(dtype), problem_(head.problem), ranges_(head.ranges) {
  verify::Inputs forward{head.in.q.clone(), head.in.k.clone(), head.in.v.clone(), Buffer()};
  in_ = verify::converted(verify::converted(forward, dtype), DType::kFloat32);
  const Index all_rows = in_.q.extents().batch * in_.q.extents().heads * rows();
  out_ = filled(all_rows * problem_.head_dim, 0);
  max_ = filled(all_rows, -std::numeric_limits<float>::infinity());
  sum_ = filled(all_rows, 0);
  workspace_ = filled(workspace, kNaN);
}

KernelRun KernelHead::step(const KernelCall& call, HowRun how) {
  parts_.push_back(keys_between(0, keys()));
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
  parts_.push_back(keys_between(first, last));
  const auto rows_of = [&](Buffer& kv) {
    return rows_between(kv.values<float>(), first, last, problem_.head_dim);
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
  KernelRun answer = without_finding(name_, with_label(name_ + ": ", [&] { return call(step); }));
  for (const auto& kept : floats) kept.require_same();
  for (const auto& kept : ints) kept.require_same();
  return answer;
}

verify::Arrangement KernelHead::place(const verify::BlockProblem& problem) const {
  std::vector<Index> all;
  for (const auto& part : parts_) all.insert(all.end(), part.begin(), part.end());
  std::ranges::sort(all);
  const bool each_once = all == keys_between(0, keys());
  verify::Arrangement place =
      each_once ? verify::parted_arrangement(rows(), keys(), parts_) : verify::one_block(problem);
  place.partial = true;
  return place;
}

// The arguments of the kernels.
verify::BlockProblem KernelHead::problem_in_float() const {
  verify::BlockProblem problem = problem_;
  problem.softmax_scale = static_cast<float>(problem.softmax_scale);
  return problem;
}

verify::Answer KernelHead::answer() const {
  verify::Answer got;
  got.out = Buffer(problem_.q_extents(), DType::kFloat32);
  got.lse = Buffer(problem_.row_extents(), DType::kFloat32);
  const auto width = static_cast<std::size_t>(problem_.head_dim);
  for (std::size_t row = 0; row < max_.size(); ++row) {
    const float l = sum_[row];
    for (std::size_t d = row * width; d < (row + 1) * width; ++d)
      got.out.values<float>()[d] = l == 0 ? out_[d] : out_[d] / l;
    got.lse.values<float>()[row] = l == 0 ? max_[row] : max_[row] + std::log(l);
  }
  return got;
}

verify::Oracle KernelHead::right() const {
  return verify::oracle(problem_in_float(), in_, {.rounding = verify::tensor_core_rounding(dtype_)});
}

verify::AttentionExhibit KernelHead::exhibit(verify::RoundingRule& rule) const {
  verify::Answer got = answer();
  const verify::BlockProblem problem = problem_in_float();
  verify::Comparison comparison = rule.add(got, right());
  return {problem,
          place(problem),
          {},
          verify::clone(in_),
          std::move(got),
          std::move(comparison),
          verify::tensor_core_rounding(dtype_),
          dtype_};
}

void KernelHead::require_attention(verify::RoundingRule& rule) const {
  const verify::Answer got = answer();
  const verify::Oracle want = right();
  const verify::BlockProblem problem = problem_in_float();
  const verify::Comparison comparison = rule.add(got, want);
  exhibiting(
      [&] {
        return verify::AttentionExhibit{problem,
                                        place(problem),
                                        {},
                                        verify::clone(in_),
                                        verify::clone(got),
                                        comparison,
                                        verify::tensor_core_rounding(dtype_),
                                        dtype_};
      },
      [&] { require_comparison(name_, comparison, want); });
  if (dtype_ == DType::kBFloat16) require_only_weights_rounded(name_, problem, in_, got, want);
}

std::span<float> rows_between(std::span<float> all, Index first, Index last, Index width) {
  return all.subspan(static_cast<std::size_t>(first * width),
                     static_cast<std::size_t>((last - first) * width));
}

namespace {

// Arrays and instructions have known names; those of places, shared variables and kernels are short.
void require_no_foreign_words(const std::string& name, const KernelRun& run) {
  constexpr std::size_t kLongestName = 200;
  const auto require = [&](bool holds) {
    if (!holds) throw Wrong(sign::kProtocol, "unreadable-answer", "{}: the answer cannot be read", name);
  };
  const auto is_short = [](const std::string& text) { return ringcraft::shown(text, kLongestName) == text; };
  const auto require_short = [&](const simt::CodePlace& place) { require(is_short(place.line)); };
  for (const MovedByLine& line : run.moved) require_short(line.place);
  for (const simt::Finding& finding : run.findings) {
    simt::for_each_place(finding, require_short);
    const std::string& memory = finding.memory.name;
    if (finding.memory.kind == simt::FoundMemory::Kind::kDevice)
      require(memory.empty() || std::ranges::find(kNamesOfArrays, memory) != std::end(kNamesOfArrays));
    else
      require(is_short(memory));
    if (finding.mistake == simt::Mistake::kCrooked)
      require(finding.name == "cp.async" || finding.name == "ldmatrix");
    else
      require(is_short(finding.name));
  }
}

}  // namespace

KernelRun without_finding(const std::string& name, KernelRun run) {
  require_no_foreign_words(name, run);
  for (const simt::Finding& finding : run.findings)
    throw Wrong(sign::kFinding, "launch", "{}: {}", name, finding);
  return run;
}

void require_near(const std::string& what, double got, double want, double bound) {
  if (got == want || std::fabs(got - want) <= bound + 1e-30) return;
  const bool no_number = std::isnan(got) || (std::isinf(got) && !std::isinf(want));
  throw Wrong(no_number ? sign::kNoNumber : sign::kValues, "number", "{} is {}, and must be {}", what,
              Shown{got, std::isnan(got) ? "NaN" : std::to_string(got)}, Shown{want, std::to_string(want)});
}

void require_rule(const verify::RoundingRule& rule) {
  if (const auto fault = rule.together())
    throw Wrong(sign::kValues, "together", "each case is near enough, but together: {}",
                verify::described(*fault))
        .knowing(facts_of(*fault));
}

}  // namespace ringcraft::judge
