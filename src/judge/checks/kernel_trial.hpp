#pragma once
/// @file
/// Steps of a ring for kernels, in float32: the state before and after, the oracle's answer under the rule
/// for floats, and the arrays between the kernels of a step.

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "judge/checks/head_trial.hpp"
#include "judge/wire/kernel_exercises.hpp"
#include "verify/oracle/rounding_rule.hpp"

namespace ringcraft::judge {

/// Calls the exercise: trial.call<E>(step).result.
using KernelCall = std::function<KernelRun(const KernelStep&)>;

/// How a step is run.
struct HowRun {
  std::uint64_t order = 0;  ///< see KernelStep, as the next two
  int launches = -1;
  bool count_traffic = false;
};

/// A head, or several, as kernels get them: the numbers rounded to the rung's type and widened to float32,
/// the state and the workspace.
class KernelHead {
 public:
  /// The state begins as the identity; the workspace has room for `workspace` numbers, all NaN. q, k and v
  /// are rounded to `dtype`, the rung's number type.
  KernelHead(const HeadCase& head, Index workspace, DType dtype = DType::kFloat32);

  /// Runs a step with the keys [first, last) of a single head, or with all keys of all heads. Throws Wrong if
  /// the launch ends with a finding (sign::kFinding), or if an array that a kernel may only read has changed.
  KernelRun step(const KernelCall& call, HowRun how = {});
  KernelRun step(const KernelCall& call, Index first, Index last, HowRun how = {});  ///< see above

  /// Throws Wrong unless O / l and m + log l are the oracle's attention; the rule, for the rung's number
  /// type, goes on over several heads. A rung for bf16 must meet a tighter bound: only the weights may be
  /// rounded to bf16.
  void require_attention(verify::RoundingRule& rule) const;
  /// The answer beside the oracle's, right or wrong, for a diagnosis.
  verify::AttentionExhibit exhibit(verify::RoundingRule& rule) const;

  const std::string& name() const { return name_; }
  void rename(const std::string& name) { name_ = name; }  ///< for sentences
  const verify::BlockProblem& problem() const { return problem_; }
  const KeyRanges& ranges() const { return ranges_; }
  verify::Inputs& inputs() { return in_; }             ///< float32, rounded to the rung's type
  std::span<float> out() { return out_; }              ///< O
  std::span<float> max() { return max_; }              ///< m
  std::span<float> sum() { return sum_; }              ///< l
  std::span<float> workspace() { return workspace_; }  ///< as the kernels left it
  Index rows() const { return in_.q.extents().rows; }
  Index keys() const { return in_.k.extents().rows; }

 private:
  KernelRun run(const KernelCall& call, KernelStep step, const HowRun& how);
  verify::Arrangement place(const verify::BlockProblem& problem) const;
  verify::BlockProblem problem_in_float() const;
  verify::Answer answer() const;
  verify::Oracle right() const;

  std::string name_;
  DType dtype_;
  verify::BlockProblem problem_;
  KeyRanges ranges_;
  verify::Inputs in_;
  std::vector<float> out_, max_, sum_, workspace_;
  std::vector<std::vector<Index>> parts_;  // keys of each step so far
};

/// The rows [first, last) of a single head's numbers, `width` to a row.
std::span<float> rows_between(std::span<float> all, Index first, Index last, Index width);

/// The reply of a launch, which a student's process has written. Throws Wrong if it ended with a finding
/// (sign::kFinding), or if it holds words that no launch reports (sign::kProtocol).
KernelRun without_finding(const std::string& name, KernelRun run);

/// Throws Wrong, "WHAT is GOT, and must be WANT", unless |got - want| <= bound + 1e-30. Infinite numbers must
/// match; a NaN never passes.
void require_near(const std::string& what, double got, double want, double bound);

/// A copy of an array that kernels may only read, to detect a change.
template <class T>
class Kept {
 public:
  Kept(const char* name, std::span<T> array)
      : name_(name), array_(array), copy_(array.begin(), array.end()) {}
  /// Throws Wrong (sign::kInput) if a bit of the array has changed.
  void require_same() const {
    if (!copy_.empty() && std::memcmp(copy_.data(), array_.data(), array_.size_bytes()) != 0)
      throw Wrong(sign::kInput, "argument-changed", "your kernels changed {}, which they may only read",
                  Name{name_});
  }

 private:
  const char* name_;
  std::span<T> array_;
  std::vector<T> copy_;
};

/// Throws Wrong if the errors of all cases that the rule has seen are too large or too much alike together.
void require_rule(const verify::RoundingRule& rule);

}  // namespace ringcraft::judge
